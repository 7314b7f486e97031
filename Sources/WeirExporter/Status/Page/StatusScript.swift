extension StatusPage {
  /// Takes the content of the page anew every two seconds, and says so when that fails.
  static let script: HTML = """

    "use strict";
    (() => {
    const [every, patience] = [2000, 5000];
    const live = document.getElementById("live");
    const main = document.querySelector("main");
    // Without a user's name and password, which requests of scripts may not have.
    const url = location.origin + location.pathname + location.search;
    // All that the reader has folded or unfolded; all else is as the program sends it.
    const chosen = new Map();
    let last = Date.now(), timer;
    const say = text => { if (live.textContent !== text) live.textContent = text; };
    const failed = reason => {
      const seconds = Math.round((Date.now() - last) / 1000);
      live.className = "old";
      if (live.firstChild?.data !== reason) {
        const age = document.createElement("span");
        age.setAttribute("aria-live", "off");
        live.replaceChildren(reason, " since ", age, " s: these values are old.");
      }
      live.querySelector("span").textContent = seconds;
    };
    const show = next => {
      const focus = document.activeElement?.closest("details")?.id;
      const [x, y] = [scrollX, scrollY];
      main.replaceChildren(...document.adoptNode(next.querySelector("main")).childNodes);
      for (const [id, open] of chosen) {
        const details = document.getElementById(id);
        if (details) details.open = open;
      }
      if (focus) document.getElementById(focus)?.querySelector("summary").focus({preventScroll: true});
      scrollTo(x, y);
      document.title = next.title;
      document.querySelector("link").href = next.querySelector("link").getAttribute("href");
    };
    const isSelected = () => !getSelection().isCollapsed && main.contains(getSelection().anchorNode);
    const wait = () => {
      live.className = "";
      say("Values wait as long as text is selected.");
    };
    const refresh = async () => {
      clearTimeout(timer);
      if (document.hidden) return;
      if (isSelected()) {
        wait();
      } else {
        try {
          const answer = await fetch(url, {cache: "no-store", signal: AbortSignal.timeout(patience)});
          if (!answer.ok) throw new Error("Answers of " + answer.status);
          const next = new DOMParser().parseFromString(await answer.text(), "text/html");
          last = Date.now();
          // Text may have been selected meanwhile.
          if (isSelected()) {
            wait();
          } else {
            show(next);
            live.className = "";
            say("Values are new every 2 seconds.");
          }
        } catch (error) {
          failed(error.message.startsWith("Answers") ? error.message : "No answer");
        }
      }
      clearTimeout(timer);
      timer = setTimeout(refresh, every);
    };
    main.addEventListener("click", event => {
      const details = event.target.closest("summary")?.parentElement;
      if (details) chosen.set(details.id, !details.open);
    });
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) { last = Math.max(last, Date.now() - every); refresh(); }
    });
    timer = setTimeout(refresh, every);
    })();

    """
}
