"use strict";
const facts = JSON.parse(document.getElementById("facts").textContent);
const at = (id) => document.getElementById(id);

/** An element with text or children. Text never becomes markup. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}
const ink = getComputedStyle(document.documentElement).getPropertyValue("--text").trim();
Chart.defaults.borderColor = getComputedStyle(document.documentElement).getPropertyValue("--line").trim();
const percent = (share, digits = 2) => `${(share * 100).toFixed(digits)} %`;
const loss = (slowdown) => percent(slowdown - 1);
const number = (x, digits = 3) => (Number.isFinite(x) ? x.toFixed(digits) : "–");
/** A long name without its middle, for legends. */
const short = (name) => (name.length > 32 ? `${name.slice(0, 12)}…${name.slice(-19)}` : name);
const plain = (x) => Number(x.toPrecision(6)).toString();

// Colors that people with any color vision can distinguish (Okabe and Ito, 2008); all other choices are gray. Up to eight
// choices have the same color on every page: they are in the order of their names. Of more, those that win most have colors.
const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7b5ea7"];
const OTHER = "#8b949e";
const byWins = facts.choices.map((_, i) => i).sort((a, b) => facts.choices[b].wins - facts.choices[a].wins);
const byName = (a, b) => (facts.choices[a].name < facts.choices[b].name ? -1 : 1);
const colored = facts.choices.length > PALETTE.length ? byWins : [...byWins].sort(byName);
const color = (choice) => PALETTE[colored.indexOf(choice)] ?? OTHER;
const colorOf = (name) => color(facts.choices.findIndex((choice) => choice.name === name));

/** Of a logarithmic axis that spans decades, only ticks whose labels do not overlap: 1, 2 and 5 times powers of ten, or these alone. */
function thin(axis) {
  const decades = Math.log10(axis.max / axis.min);
  const first = (value) => value / 10 ** Math.floor(Math.log10(value) + 1e-9);
  const kept = decades > 3 ? [1] : [1, 2, 5];
  if (decades > 1) axis.ticks = axis.ticks.filter(({ value }) => kept.some((digit) => Math.abs(first(value) - digit) < 0.01));
}

/** One feature as an axis: positive numbers on a logarithmic scale, categories by position. */
function axis(slot, ink) {
  const { name, numerical } = facts.features[slot];
  const title = { display: true, text: name, color: ink };
  if (!numerical) {
    const categories = [...new Set(facts.points.map((point) => point.values[slot]))].sort();
    const scale = {
      type: "linear", title, min: -0.5, max: categories.length - 0.5,
      ticks: { color: ink, stepSize: 1, maxRotation: 60, callback: (i) => (categories[i] === undefined ? "" : short(categories[i])) },
    };
    // Inputs of one category are side by side.
    return { scale, place: (point, i) => categories.indexOf(point.values[slot]) + ((i * 0.618) % 1) * 0.6 - 0.3 };
  }
  const positive = facts.points.every((point) => point.values[slot] > 0);
  const type = positive ? { type: "logarithmic", afterBuildTicks: thin } : { type: "linear" };
  return { scale: { ...type, title, ticks: { color: ink } }, place: (point) => point.values[slot] };
}

let map;
/** Draws the map of the inputs; a ring marks those with a slowdown above 1.05. */
function drawMap(ink) {
  const [x, y] = [axis(Number(at("x").value), ink), axis(Number(at("y").value), ink)];
  const groups = [...colored.slice(0, PALETTE.length).map((choice) => [choice]), colored.slice(PALETTE.length)];
  const datasets = groups.filter((group) => group.some((choice) => facts.choices[choice].wins > 0)).map((group) => {
    const points = facts.points.map((point, i) => ({ point, i })).filter(({ point }) => group.includes(point.winner));
    return {
      label: group.length === 1 ? short(facts.choices[group[0]].name) : "others",
      data: points.map(({ point, i }) => ({ x: x.place(point, i), y: y.place(point, i), point })),
      backgroundColor: color(group[0]),
      borderColor: points.map(({ point }) => (point.slowdown > 1.05 ? ink : "transparent")),
      borderWidth: points.map(({ point }) => (point.slowdown > 1.05 ? 2 : 0)),
      pointRadius: points.map(({ point }) => (point.slowdown > 1.05 ? 5 : 3)),
    };
  });
  map?.destroy();
  map = new Chart(at("map"), {
    type: "scatter",
    data: { datasets },
    options: {
      animation: false, maintainAspectRatio: false, scales: { x: x.scale, y: y.scale },
      plugins: {
        legend: { labels: { color: ink } },
        tooltip: {
          callbacks: {
            label: ({ raw: { point } }) => [
              facts.features.map((feature, slot) => `${feature.name}=${point.values[slot]}`).join(" "),
              `best ${facts.choices[point.winner].name}` + (point.taken === undefined
                ? "" : `, taken ${facts.choices[point.taken].name}, slowdown ${number(point.slowdown)}`),
            ],
          },
        },
      },
    },
  });
}

function maps(ink) {
  const options = () => facts.features.map((feature, slot) => element("option", { value: slot }, feature.name));
  at("x").append(...options());
  at("y").append(...options());
  const varies = (slot) => new Set(facts.points.map((point) => point.values[slot])).size > 1;
  const [first, second] = facts.features.map((_, slot) => slot).filter(varies);
  at("x").value = first ?? 0;
  at("y").value = second ?? first ?? 0;
  for (const id of ["x", "y"]) at(id).addEventListener("change", () => drawMap(ink));
  if (facts.points.length < facts.inputs) at("thinned").textContent = `${facts.points.length} of ${facts.inputs} inputs are shown.`;
  drawMap(ink);
}

function table(place, header, rows) {
  place.append(
    element("thead", {}, element("tr", {}, ...header.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((text) => element("td", {}, text))))),
  );
}

/** The rows that `folded` shows before the others. */
const SHOWN = 12;

/** Adds a table to `place`, all but its first rows folded away. */
function folded(place, header, rows, more) {
  const listed = (some) => {
    const made = element("table");
    table(made, header, some);
    return made;
  };
  place.append(listed(rows.slice(0, SHOWN)));
  if (rows.length > SHOWN) {
    place.append(element("details", {}, element("summary", {}, `${rows.length - SHOWN} ${more}`), listed(rows.slice(SHOWN))));
  }
}

