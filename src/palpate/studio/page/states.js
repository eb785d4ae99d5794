/* What is known of each experiment file. Writes go one after the other, each on the version that the one before has made; an answer to a question
   that is older than what is known is dropped. No DOM: Node runs it too.

     const states = createStates(ask);
     await states.read(file, () => ask(`/api/state?file=${file}`));      // the state, or what is newer than that
     await states.write(file, "change", state => ({changes: {...}}));   // of the state as it is when its turn has come
     states.of(file); states.writing(file); */

export function createStates(ask) {
  const files = new Map();
  const known = file => {
    if (!files.has(file)) files.set(file, {state: null, writing: 0, asked: 0, taken: 0, line: Promise.resolve()});
    return files.get(file);
  };

  async function read(file, question) {
    const one = known(file), mine = ++one.asked, state = await question();
    if (!one.writing && mine > one.taken) [one.taken, one.state] = [mine, state];
    return one.state;
  }

  function write(file, name, given = {}) {
    const one = known(file);
    one.writing += 1;
    const done = one.line.then(async () => {
      try {
        const more = typeof given === "function" ? given(one.state) : given;
        one.state = await ask(`/api/${name}`, {file, revision: one.state.revision, ...more});
        return one.state;
      } finally {
        one.writing -= 1;
        one.taken = ++one.asked; /* what was asked before may not know of it */
      }
    });
    one.line = done.catch(() => null);
    return done;
  }

  return {read, write, of: file => known(file).state, writing: file => known(file).writing > 0};
}
