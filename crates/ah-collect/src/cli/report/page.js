function head() {
  const [all] = facts.repeats.spreads;
  const { flips } = facts.repeats;
  const device = facts.device === null ? "" : `, measured on ${facts.device}`;
  at("title").textContent = facts.name;
  at("subtitle").textContent = `A log${device}.`;
  const tiles = [
    [String(facts.inputs), `inputs, ${facts.choices.length} choices, ${facts.rows} rows`],
    [percent(facts.failures / facts.rows, 1), "of rows are failures"],
    [all === undefined ? "–" : percent(all.median), "between repetitions, in the median"],
    [flips.inputs === 0 ? "–" : percent(flips.loss), "lost by taking the winner of the other half of the repetitions"],
  ];
  if (facts.best_single !== null) tiles.push([loss(facts.best_single[1]), `lost by always taking ${facts.best_single[0]}`]);
  at("tiles").append(
    ...tiles.map(([value, text]) => element("div", { class: "tile" }, element("b", {}, value), element("span", {}, text))),
  );
}

/** Bars that show how many inputs lie where: by the logarithm for positive numbers, by value for categories. */
function bars(slot) {
  const values = facts.points.map((point) => point.values[slot]);
  const { numerical } = facts.features[slot];
  const categories = [...new Set(values)].sort();
  const positive = numerical && values.every((value) => value > 0);
  const place = numerical ? (value) => (positive ? Math.log(value) : value) : (value) => categories.indexOf(value);
  const places = values.map(place);
  const least = places.reduce((a, b) => Math.min(a, b), Infinity);
  const range = places.reduce((a, b) => Math.max(a, b), -Infinity) - least;
  const counts = new Array(numerical ? 24 : Math.min(categories.length, 24)).fill(0);
  for (const x of places) counts[Math.min(counts.length - 1, Math.floor(((x - least) / (range || 1)) * counts.length))] += 1;
  const most = Math.max(...counts);
  const drawn = element("span", { class: "bars", role: "img", "aria-label": `inputs by ${facts.features[slot].name}: ${counts.join(", ")}` });
  drawn.append(...counts.map((count) => element("i", { style: `height: ${Math.round((count / most) * 100)}%` })));
  return drawn;
}

function features() {
  table(at("features"), ["feature", "inputs", "values", "least", "greatest"], facts.features.map((feature, slot) => [
    feature.name, bars(slot), String(feature.distinct), feature.least, feature.greatest,
  ]));
}

function choices() {
  folded(at("choices"), ["choice", "measured", "failed", "wins", "ahead of the second by"], byWins.map((i) => facts.choices[i]).map((choice) => [
    choice.name, String(choice.measured), String(choice.failed), percent(choice.wins / facts.inputs, 1),
    choice.wins === 0 ? "–" : percent(choice.margin),
  ]), "more choices");
}

function noise() {
  const { spreads, flips } = facts.repeats;
  table(at("noise"), ["times", "choices on inputs", "median", "worst twentieth"], spreads.map((spread) => [
    spread.times, String(spread.cells), percent(spread.median), percent(spread.p95),
  ]));
  at("flips").textContent = flips.inputs === 0
    ? "The log holds one time for each choice and input, so it does not show how often winners change."
    : `The winner of the first half of the repetitions is another one in the second half on ${percent(flips.changed, 1)} of ${flips.inputs} ` +
      `inputs, and on ${percent(flips.clear_changed, 1)} of the ${flips.clear} where it leads by more than 3 %. Taking the first half's winner ` +
      `loses ${percent(flips.loss)} in the second half: the noise of this log hides any smaller loss.`;
}

head();
features();
maps(ink);
choices();
noise();
at("record").textContent = JSON.stringify(facts.collection, null, 2);
