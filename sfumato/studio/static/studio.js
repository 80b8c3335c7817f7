// What a page does by itself. Without it everything works too, by forms and links.
"use strict";

// A form that is sent is not sent again by a second click; the server knows it by its ticket in any case.
for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", (event) => setTimeout(() => {
    if (event.defaultPrevented) return;
    for (const button of form.querySelectorAll("button")) button.disabled = true;
  }));
}
window.addEventListener("pageshow", () => {
  for (const button of document.querySelectorAll("button:disabled")) button.disabled = false;
  checkName();
});

// The button of a release waits for the name of the dataset.
const named = document.querySelector("#confirm input[name=dataset]");
function checkName() {
  if (named) document.querySelector("#confirm .grave").disabled = named.value.trim() !== named.dataset.name;
}
if (named) named.addEventListener("input", checkName);
checkName();

// The stages of a job, until it ends.
const stages = document.getElementById("stages");
async function follow() {
  try {
    const answer = await fetch(stages.dataset.state);
    const job = await answer.json();
    if (!job.runs) return location.reload();
    stages.replaceChildren(...job.stages.map(([seconds, words]) => {
      const line = document.createElement("li"), time = document.createElement("span");
      time.className = "seconds";
      time.textContent = `${seconds.toFixed(1)} s`;
      line.append(time, " ", words);
      return line;
    }));
  } catch {
    // the studio may be starting again: the next look tells
  }
  setTimeout(follow, 700);
}
if (stages) setTimeout(follow, 500);

// The slider of the plan: the server has sent what each of its positions says.
const slide = document.getElementById("slide"), positions = document.getElementById("positions");
if (slide && positions) {
  const told = JSON.parse(positions.textContent);
  const put = (id, words) => { const place = document.getElementById(id); if (place && words) place.textContent = words; };
  slide.closest(".slider").hidden = false;
  slide.addEventListener("input", () => {
    const at = Number(slide.value), epsilon = String(told.epsilons[at]);
    document.getElementById("epsilon").value = epsilon;
    slide.setAttribute("aria-valuetext", `epsilon ${epsilon}`);
    put("at", epsilon);
    const { headline, sentence, lists } = told.words[at];
    put("sentence", sentence);
    put("headline", headline);
    for (const list of document.querySelectorAll("[data-words]")) {
      list.replaceChildren(...lists[list.dataset.words].map((line) => Object.assign(document.createElement("li"), { textContent: line })));
    }
    document.querySelectorAll(".curve").forEach((curve, place) => {
      const [x, y, words] = told.marks[place][at];
      const line = curve.querySelector(".mark line"), dot = curve.querySelector(".mark circle");
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
      dot.setAttribute("cx", x);
      dot.setAttribute("cy", y);
      curve.querySelector(".value").textContent = words;
    });
  });
}
