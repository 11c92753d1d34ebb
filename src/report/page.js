// Hover values and sorting. The page is complete without it.
(function () {
  "use strict";

  // ---- values: computed from the position of a point and the scale of its panel

  function scaleOf(text) {
    var part = text.split(" "), low = +part[1], high = +part[2], from = +part[3], to = +part[4];
    var whole = part[0].indexOf("whole-") === 0, log = part[0] === "log";
    // positions have two decimals, which limits the digits of a value
    var last = Math.ceil(Math.log10(Math.abs((high - low) / (to - from)) / 100));
    return function (at) {
      var value = low + (at - from) / (to - from) * (high - low);
      var digits = log ? 4 : Math.floor(Math.log10(Math.abs(value))) - last + 1;
      value = log ? Math.pow(10, value) : value;
      return whole ? String(Math.round(value)) : digits > 0 ? String(+value.toPrecision(Math.min(digits, 15))) : "0";
    };
  }

  // Positions of a mark: every point begins with M; a line has a pair for each corner.
  function placesOf(path) {
    var d = path.getAttribute("d"), found, places = [];
    var pattern = path.dataset.mark === "line" ? /(-?[\d.]+) (-?[\d.]+)/g : /M(-?[\d.]+) (-?[\d.]+)/g;
    while ((found = pattern.exec(d)) !== null) {
      places.push([+found[1], +found[2]]);
    }
    return places;
  }

  function panelOf(group) {
    var marks = Array.prototype.map.call(group.querySelectorAll("[data-mark]"), function (path) {
      return { kind: path.dataset.mark, label: path.dataset.label || "", places: placesOf(path), numbers: (path.dataset.numbers || "").split(" ") };
    });
    return { x: scaleOf(group.dataset.x), y: scaleOf(group.dataset.y), names: [group.dataset.xName, group.dataset.yName], marks: marks };
  }

  // At equal distance, points win over lines.
  function nearest(panel, at, reach) {
    var best = null;
    panel.marks.forEach(function (mark) {
      var handicap = mark.kind === "line" ? 1.5 : 1;
      mark.places.forEach(function (place, i) {
        var far = handicap * Math.hypot(place[0] - at.x, place[1] - at.y);
        if (far < reach && (best === null || far < best.far)) {
          best = { far: far, mark: mark, place: place, number: mark.numbers[i] };
        }
      });
    });
    return best;
  }

  function describe(panel, hit) {
    var lines = [];
    if (hit.number) {
      lines.push("row " + hit.number);
    } else if (hit.mark.label) {
      lines.push(hit.mark.label);
    }
    if (hit.mark.kind !== "y-rug") {
      lines.push(panel.names[0] + ": " + panel.x(hit.place[0]));
    }
    if (hit.mark.kind !== "x-rug" && panel.names[1]) {
      lines.push(panel.names[1] + ": " + panel.y(hit.place[1]));
    }
    return lines.join("\n");
  }

  var tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.appendChild(tip);

  // A ring around the point whose value is shown.
  function ring(svg, hit) {
    var old = svg.querySelector(".hit");
    if (old) {
      svg.removeChild(old);
    }
    if (hit) {
      var circle = document.createElementNS("http://www.w3.org/2000/svg", "circle");
      circle.setAttribute("class", "hit");
      circle.setAttribute("cx", hit.place[0]);
      circle.setAttribute("cy", hit.place[1]);
      circle.setAttribute("r", 4);
      svg.appendChild(circle);
    }
  }

  function place(event) {
    var box = tip.getBoundingClientRect(), left = event.clientX + 14, top = event.clientY + 14;
    tip.style.left = Math.max(4, Math.min(left, window.innerWidth - box.width - 4)) + "px";
    tip.style.top = (top + box.height > window.innerHeight ? event.clientY - box.height - 10 : top) + "px";
  }

  function watch(svg) {
    var panels = null;
    function show(event) {
      panels = panels || Array.prototype.map.call(svg.querySelectorAll("g[data-x]"), panelOf);
      var at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      var best = null, text = "";
      panels.forEach(function (panel) {
        var hit = nearest(panel, at, 14);
        if (hit) {
          best = hit;
          text = describe(panel, hit);
        }
      });
      tip.hidden = best === null;
      tip.textContent = text;
      ring(svg, best);
      if (best) {
        place(event);
      }
    }
    svg.addEventListener("pointermove", show);
    svg.addEventListener("pointerdown", show);
    svg.addEventListener("pointerleave", function () {
      tip.hidden = true;
      ring(svg, null);
    });
  }

  Array.prototype.forEach.call(document.querySelectorAll("figure svg"), watch);

  // ---- sorting

  function sortBy(table, column) {
    var head = table.tHead.rows[0].cells[column], body = table.tBodies[0];
    var down = head.getAttribute("aria-sort") !== "descending", sign = down ? -1 : 1;
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (cell) { cell.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    Array.prototype.slice.call(body.rows).sort(function (a, b) {
      return sign * (+a.cells[column].dataset.value - +b.cells[column].dataset.value);
    }).forEach(function (row) { body.appendChild(row); });
  }

  Array.prototype.forEach.call(document.querySelectorAll("table.sortable"), function (table) {
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (cell, column) {
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = cell.textContent;
      cell.textContent = "";
      cell.appendChild(button);
      button.addEventListener("click", function () { sortBy(table, column); });
    });
  });
})();
