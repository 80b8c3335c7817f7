// The form of the schema is held against the real rules while somebody types, and kept.
"use strict";

const form = document.getElementById("schema");
if (form) {
  let waiting = 0, asking = false, again = false, leaving = false;
  const saved = document.getElementById("saved"), summary = document.getElementById("summary");
  // What was typed as YAML and is not saved stays; saving it then says that the form has changed meanwhile.
  const draft = document.getElementById("draft");
  let typed = false;
  const paper = document.getElementById("paper");
  draft.addEventListener("input", () => { typed = true; });
  const show = (told) => {
    for (const place of document.querySelectorAll("[id^='p-']")) {
      const words = told.troubles[place.id.slice(2)] ?? [];
      if (place.id === "p-schema") {
        place.replaceChildren(...words.map((one) => Object.assign(document.createElement("p"), { className: "problem", textContent: one })));
      } else {
        place.textContent = words.join("; ");
        place.classList.toggle("open", told.open.includes(words[0]));
      }
    }
    told.states.forEach((state, place) => {
      const tag = document.getElementById(`s${place}`);
      if (tag) Object.assign(tag, { className: `tag ${state.kind}`, textContent: state.words });
    });
    form.elements.version.value = told.version;
    if (!typed) {
      draft.value = paper.textContent = told.yaml;
      draft.form.elements.version.value = told.version;
    }
    summary.textContent = told.summary;
    summary.className = `state ${told.complete ? "fine" : "open"}`;
    saved.textContent = "saved";
  };
  const ask = async () => {
    if (asking) { again = true; return; }
    asking = true;
    try {
      const answer = await fetch(form.dataset.live, { method: "POST", body: new URLSearchParams(new FormData(form)) });
      const told = await answer.json();
      if (leaving) return;
      if (told.stale) saved.textContent = told.stale; else show(told);
    } catch {
      saved.textContent = "the studio does not answer; is it still running?";
    } finally {
      asking = false;
      if (again && !leaving) { again = false; ask(); }
    }
  };
  form.addEventListener("input", () => {
    saved.textContent = "";
    clearTimeout(waiting);
    waiting = setTimeout(ask, 450);
  });
  // What is still being kept would change the version that the form is about to send.
  form.addEventListener("submit", (event) => {
    if (asking) {
      event.preventDefault();
      const { submitter } = event;
      const wait = setInterval(() => { if (!asking) { clearInterval(wait); form.requestSubmit(submitter); } }, 40);
      return;
    }
    clearTimeout(waiting);
    leaving = true;
  });
  window.addEventListener("pageshow", () => { leaving = false; });
}
