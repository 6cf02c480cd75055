"use strict";
(() => {
  const NS = "http://www.w3.org/2000/svg";
  const html = (name, className, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const svg = (name, attributes, parent, text) => {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  };
  const chartOf = (item, width, axis) => {
    const height = 190, left = 40, right = width - 12, top = 12, bottom = height - 28;
    const ranges = item.ranges ?? [], changes = item.changes ?? [];
    const known = [item.values, ...ranges, ...changes].flat().filter((v) => v !== null);
    const least = Math.min(...known), most = Math.max(...known);
    const step = [1, 2, 5, 10, 20, 50].find((s) => s >= (most - least + 2) / 4) ?? 100;
    const low = Math.floor(least / step) * step, high = Math.max(low + step, Math.ceil(most / step) * step);
    const last = Math.max(1, item.times.length - 1);
    const x = (k) => left + (item.times.length > 1 ? k / last : 0.5) * (right - left);
    const y = (v) => bottom - ((v - low) / (high - low)) * (bottom - top);
    const drawn = document.createElementNS(NS, "svg");
    drawn.setAttribute("viewBox", `0 0 ${width} ${height}`);
    drawn.setAttribute("role", "img");
    drawn.setAttribute("aria-label", `${axis} of ${item.name} over time`);
    for (let v = low; v <= high; v += step) {
      svg("path", { class: "grid", d: `M${left} ${y(v)}H${right}` }, drawn);
      svg("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, drawn, String(v));
    }
    const named = [...new Set([0, last].map((k) => Math.min(k, item.times.length - 1)))];
    for (const k of named)
      svg("text", { x: x(k), y: height - 8, "text-anchor": k ? "end" : "start" }, drawn, item.times[k]);
    const at = (k, v) => `${x(k).toFixed(1)} ${y(v).toFixed(1)}`;
    // windows next to each other that are known, as lists of their numbers
    const runs = (values) => {
      const found = [];
      values.forEach((v, k) => {
        if (v === null) return;
        if (k && values[k - 1] !== null) found[found.length - 1].push(k);
        else found.push([k]);
      });
      return found;
    };
    const line = (className, values) => {
      const path = runs(values).map((run) => "M" + run.map((k) => at(k, values[k])).join("L"));
      svg("path", { class: className, d: path.join("") }, drawn);
    };
    const band = (className, pairs) => {
      const path = runs(pairs.map(([lower]) => lower)).map((run) => {
        const ends = [...run.map((k) => at(k, pairs[k][1])), ...run.reverse().map((k) => at(k, pairs[k][0]))];
        return `M${ends.join("L")}Z`;
      });
      svg("path", { class: className, d: path.join("") }, drawn);
    };
    if (item.baseline) {
      const end = (x(item.baseline - 1) + x(Math.min(item.baseline, last))) / 2;
      svg("rect", { class: "baseline", x: left, y: top, width: Math.max(end - left, 4), height: bottom - top }, drawn);
    }
    band("band", ranges);
    band("band change", changes.map((ends) => ends.slice(1)));
    line("line change", changes.map(([v]) => v));
    line("line", item.values);
    item.values.forEach((v, k) => {
      if (v === null) return;
      const point = svg("circle", { class: "point", cx: x(k), cy: y(v), r: 3 }, drawn);
      svg("title", {}, point, `${item.times[k]}: ${v}`);
    });
    for (const name of item.marks ?? []) {
      const k = item.times.indexOf(name);
      if (k < 0) continue;
      const mark = svg("path", { class: "mark", d: `M${x(k)} ${top}V${bottom}` }, drawn);
      svg("title", {}, mark, `alarm: ${name}`);
    }
    return drawn;
  };
  const opened = (item, axis, width) => {
    const box = html("div", "board-open");
    if (item.alarm) box.append(html("p", "alarm", item.alarm));
    if (item.values) box.append(chartOf(item, width, axis));
    if (item.changes) {
      const key = html("p", "board-key");
      key.append(html("span", "", "each window by itself"), html("span", "change", "baseline and change"));
      box.append(key);
    }
    if (item.facts) {
      const list = html("ul");
      for (const fact of item.facts) list.append(html("li", "", fact));
      box.append(list);
    }
    if (item.pictures) {
      const all = html("div", "thumbnails");
      for (const [source, caption] of item.pictures) {
        const one = html("figure"), image = html("img");
        image.loading = "lazy";
        image.src = source;
        image.alt = caption;
        one.append(image, html("figcaption", "", caption));
        all.append(one);
      }
      box.append(all);
    }
    return box;
  };
  const lineOf = (item, data) => {
    const line = html("li"), button = html("button", item.alarm ? "board-line alarmed" : "board-line");
    button.type = "button";
    button.setAttribute("aria-expanded", "false");
    const who = html("span", "who", item.name);
    if (item.note) who.append(html("small", "", item.note));
    if (item.alarm) who.append(html("small", "alarm", item.alarm));
    const bar = html("span", "bar"), percent = (v) => `${(100 * v) / data.top}%`;
    if (item.lower !== undefined) {
      const reach = html("span", "reach");
      reach.style.left = percent(item.lower);
      reach.style.width = percent(item.upper - item.lower);
      bar.append(reach);
    }
    if (item.at !== undefined) {
      const dot = html("span", "dot");
      dot.style.left = percent(item.at);
      bar.append(dot);
    }
    button.append(who, bar, html("span", "number", item.at?.toFixed(data.digits) ?? "–"));
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", String(!open));
      if (open) line.lastChild.remove();
      else line.append(opened(item, data.axis, Math.max(280, line.clientWidth - 24)));
    });
    line.append(button);
    return line;
  };
  for (const figure of document.querySelectorAll("figure.board-of-many")) {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const list = figure.querySelector(".board-list"), count = figure.querySelector(".count");
    const search = figure.querySelector("input"), order = figure.querySelector("select");
    const ticks = figure.querySelector(".ticks");
    for (let k = 0; k <= 4; k++) {
      const tick = html("span", "", String((data.top * k) / 4));
      tick.style.left = `${25 * k}%`;
      ticks.append(tick);
    }
    const lines = data.items.map((item) => ({ item, line: lineOf(item, data) }));
    const orders = { [data.order]: () => 0 };
    if (data.items.some((item) => item.alarm)) orders["alarms first"] = (a, b) => !a.item.alarm - !b.item.alarm;
    orders["by name"] = (a, b) => a.item.name.localeCompare(b.item.name, undefined, { numeric: true });
    for (const name of Object.keys(orders)) order.append(new Option(name, name));
    const show = () => {
      const words = search.value.toLowerCase();
      const shown = lines.filter(({ item }) => item.name.toLowerCase().includes(words));
      shown.sort(orders[order.value]);
      list.replaceChildren(...shown.map(({ line }) => line));
      count.textContent = `${shown.length} of ${lines.length}`;
    };
    search.addEventListener("input", show);
    order.addEventListener("change", show);
    show();
    for (const { item, line } of lines) if (item.open) line.firstChild.click();
  }
})();
