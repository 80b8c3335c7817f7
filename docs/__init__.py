"""The documentation: pages in Markdown, and in `_site` what makes a site of them."""
