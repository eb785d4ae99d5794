/* Search from disk: a page opened as a file may start no worker, so that its script runs in a hidden frame instead. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.append(frame);
      const inside = this.inside = frame.contentWindow;
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", {data}));
      inside.importScripts = (...scripts) => scripts.reduce((before, script) => before.then(() => this.run(script)), Promise.resolve());
      this.ready = this.run(url);
    }
    run(script) {
      return new Promise((done, failed) => {
        const made = this.inside.document.createElement("script");
        Object.assign(made, {src: String(script), onload: done, onerror: failed});
        this.inside.document.documentElement.append(made);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", {data})));
    }
    terminate() {}
  };
}
