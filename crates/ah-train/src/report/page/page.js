function head() {
  const { model, best_single: single } = facts.comparison;
  at("title").textContent = facts.heuristic;
  const device = facts.device === null ? "" : `, learned on ${facts.device}`;
  at("subtitle").textContent = `A learned heuristic for ${facts.optimization}${device}.`;
  // Of few inputs the loss is a range.
  const { low, high } = facts.comparison.range;
  const digits = high >= 1.1 ? 0 : high >= 1.01 ? 1 : 2;
  const isFew = facts.inputs < 300 && Number.isFinite(high);
  const lost = isFew ? `${((low - 1) * 100).toFixed(digits)} to ${percent(high - 1, digits)}` : loss(model.slowdown);
  const tiles = facts.unknown !== null ? [] : [
    [`${number(model.speedup_over_fallback)} ×`, `as fast as ${facts.fallback}`],
    [lost, `lost to the best choice of each input${isFew ? ` (${loss(model.slowdown)} on these)` : ""}`],
    [loss(single.metrics.slowdown), `lost by always taking ${single.choice}`],
    [loss(model.total), `lost in total time (always ${single.choice}: ${loss(single.metrics.total)})`],
    [`${number(model.p99)} ×`, "the best time at the 99th percentile"],
    [`${number(model.worst, 2)} ×`, "the best time at worst"],
    [percent(model.over_limit), `of inputs > ${plain((facts.max_slowdown - 1) * 100)} % slower than ${facts.fallback}`],
    [percent(model.coverage, 1), "of inputs decided"],
  ];
  at("tiles").append(
    ...tiles.map(([value, text]) => element("div", { class: "tile" }, element("b", {}, value), element("span", {}, text))),
  );
  if (facts.unknown !== null) {
    at("tiles").textContent = facts.unknown;
    document.querySelectorAll(".known").forEach((section) => section.remove());
  }
  const promise = facts.promise;
  at("promise").textContent = promise === null
    ? "Nothing is promised: the heuristic declines only what it does not know, or there were too few inputs."
    : `Promise, with ${plain(promise.confidence * 100)} % confidence: at most ${plain(promise.target * 100)} % of inputs drawn like ` +
      `the ${promise.inputs} calibration inputs take more than ${plain(promise.limit)} times as long as ${facts.fallback}` +
      (facts.unit === "ms" ? `, and more than ${plain(facts.least_ms * 1e6)} ns longer. ` : ". ") +
      `${promise.violations} of them did (${promise.mode}).`;
  at("seen").textContent = facts.learned_from !== null
    ? `These figures are of ${facts.inputs} held-out inputs and a heuristic that was learned from the other ${facts.learned_from}. ` +
      "The tree below is the one that ships, learned from all of them."
    : facts.learned_from_these
    ? `These figures are too good: the model was learned from these ${facts.inputs} inputs. On inputs that it had not seen, it lost ` +
      `${loss(facts.provenance.metrics?.held_out?.slowdown ?? NaN)} (the training's record).`
    : `Judged on ${facts.inputs} inputs that the model was not learned from.`;
  if (facts.weighted) {
    at("seen").append(" The figures above count inputs by their weights; the curves, the map, the tree and the choices count each input once.");
  }
}

function curves(ink) {
  // The heuristic in the colour of the text, a choice in its own.
  const colors = facts.curves.map(({ name }, i) => (i === 0 ? ink : colorOf(name)));
  const labels = ["", " (best single)", " (fallback)"];
  new Chart(at("curves"), {
    type: "line",
    data: {
      datasets: facts.curves.map((curve, i) => ({
        label: short(curve.name) + (labels[i] ?? ""), hidden: i >= labels.length,
        data: curve.slowdowns.map((y, x) => ({ x: (x * 100) / (curve.slowdowns.length - 1), y })),
        borderColor: colors[i], backgroundColor: colors[i], borderWidth: i < labels.length ? 2 : 1.5, pointRadius: 0, borderDash: [[], [6, 3], [2, 2]][i] ?? [],
      })),
    },
    options: {
      animation: false, maintainAspectRatio: false, interaction: { mode: "nearest", axis: "x", intersect: false },
      scales: {
        x: { type: "linear", min: 0, max: 100, title: { display: true, text: "share of inputs, %", color: ink }, ticks: { color: ink } },
        y: { type: "logarithmic", min: 1, title: { display: true, text: "slowdown", color: ink }, ticks: { color: ink } },
      },
      plugins: { legend: { labels: { color: ink } } },
    },
  });
}

/** The sizes that the training compared. */
function sizes() {
  const ladder = facts.provenance.metrics?.sizes;
  if (ladder === undefined) {
    at("sizes").remove();
    return;
  }
  const name = ({ leaves, boosted_trees: boosted }) => boosted > 0 ? `${boosted} boosted trees` : leaves === 1 ? "1 leaf" : `${leaves} leaves`;
  const rows = ladder.rungs.map((rung, i) => [
    `${i === ladder.chosen ? "→ " : ""}${name(rung)}`, loss(rung.slowdown), `${number(rung.speedup)} ×`,
    `${(rung.asking_ms * 1e3).toFixed(3)} µs`,
  ]);
  const listed = element("table");
  table(listed, ["size", "lost", `as fast as ${facts.fallback}`, "decision and features"], rows);
  at("rungs").append(listed);
}

/** What the inputs of a node lose. */
function reached(here, lost, slow) {
  const risk = `${slow} of them > ${plain((facts.max_slowdown - 1) * 100)} % slower than ${facts.fallback}`;
  return `${here} inputs, ${loss(Math.exp(lost / here))} lost, ${risk}`;
}

/** The branch at `index` as nested details; returns it with the inputs that reach it: their number, log slowdown, and slow ones. */
function branch(nodes, index, test, depth) {
  const node = nodes[index];
  if (node.test === undefined) {
    const decision = node.declines ? `declines: ${node.choice}` : node.choice;
    const risk = node.over_fallback === null ? "" : `, at most ${number(node.over_fallback)} times ${facts.fallback}`;
    const here = node.here > 0 ? `; on this page ${reached(node.here, Math.log(node.loss) * node.here, node.slow)}` : "";
    const evidence = `${node.samples} training inputs, ${number(node.slowdown)} of the best time (worst ${number(node.worst)})${risk}${here}`;
    const made = element("div", { class: "leaf", style: `border-color: ${colorOf(node.choice)}` },
      element("span", {}, `${test}: `), element("b", {}, decision), element("br"), element("small", {}, evidence));
    return [made, node.here, node.here > 0 ? node.here * Math.log(node.loss) : 0, node.slow];
  }
  const [left, lefts, leftLoss, leftSlow] = branch(nodes, node.left, node.test, depth + 1);
  const [right, rights, rightLoss, rightSlow] = branch(nodes, node.right, node.otherwise, depth + 1);
  const [here, lost, slow] = [lefts + rights, leftLoss + rightLoss, leftSlow + rightSlow];
  const evidence = here > 0 ? reached(here, lost, slow) : "no input";
  const made = element("details", {},
    element("summary", {}, `${test} `, element("small", {}, evidence)), left, right);
  made.open = depth < 2;
  return [made, here, lost, slow];
}

function trees() {
  if (facts.boosted > 0) {
    at("boosted").textContent = `${facts.boosted} boosted trees decide the order of the choices in each leaf. A leaf shows the one that is taken most often there; its training inputs reach it or leaves near it.`;
    at("boosted").hidden = false;
  }
  at("trees").append(branch(facts.tree, 0, "All inputs", 0)[0]);
  const fold = (open) => () => at("trees").querySelectorAll("details").forEach((details) => { details.open = open; });
  at("unfold").addEventListener("click", fold(true));
  at("fold").addEventListener("click", fold(false));
}

function choices() {
  const rows = byWins.map((i) => facts.choices[i]).filter((choice) => choice.wins + choice.taken > 0).map((choice) => [
    choice.name, String(choice.measured), percent(choice.wins / facts.inputs, 1),
    choice.margin === null ? "–" : loss(choice.margin), percent(choice.taken / facts.inputs, 1),
  ]);
  folded(at("choices"), ["choice", "measured", "wins", "ahead of the second by", "taken"], rows, "more choices that win or are taken");
  const silent = facts.choices.length - rows.length;
  if (silent > 0) at("choices").append(element("p", {}, `${silent} other choices never win and are never taken.`));
}

function worst() {
  if (facts.worst.length === 0) at("worst").append(element("p", {}, "On every input the fastest choice was taken."));
  for (const input of facts.worst) {
    const times = element("table");
    table(times, ["choice", facts.unit], input.times.map(([name, time]) => [name, time === null ? "failed" : plain(time)]));
    const taken = input.declined ? `declined, so ${input.taken}` : input.taken;
    at("worst").append(element("details", {},
      element("summary", {}, `${number(input.slowdown)} times the best: ${taken} `, element("small", {}, input.input.join(" "))), times));
  }
}

function rest() {
  const { cells, median, p95 } = facts.noise ?? { cells: 0 };
  at("noise").textContent = cells === 0
    ? "The logs hold one time for each choice and input, so they do not show how well times repeat."
    : `The slowest repetition of a choice on an input took ${loss(median)} longer than the fastest in the median, ` +
      `${loss(p95)} in the worst twentieth (${cells} pairs of choice and input).`;
  const { logs, ...record } = facts.provenance;
  table(at("logs"), ["log", "rows", "measured on", "BLAKE3"],
    logs.map((log) => [log.file, String(log.rows), log.date ?? "unknown", log.blake3]));
  at("record").textContent = JSON.stringify(record, null, 2);
}

head();
if (facts.unknown === null) curves(ink);
sizes();
if (facts.unknown === null) maps(ink);
trees();
if (facts.unknown === null) {
  choices();
  worst();
}
rest();
