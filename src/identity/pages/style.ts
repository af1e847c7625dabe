/** Of all pages for people: light or dark as the browser asks, and readable on a telephone. */
export const STYLE = `
:root { color-scheme: light dark; --text: #1b1b1b; --page: #fff; --card: #f5f5f4; --line: #767676; --soft: #555;
  --accent: #0b5cad; --on-accent: #fff; --alarm: #b00020; }
@media (prefers-color-scheme: dark) { :root { --text: #ececec; --page: #161616; --card: #222; --line: #8c8c8c;
  --soft: #b5b5b5; --accent: #8ec2f7; --on-accent: #10151a; --alarm: #ff9c9c; } }
* { box-sizing: border-box; }
body { font: 1rem/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); margin: 0 auto;
  max-width: 40rem; padding: 1rem; overflow-wrap: anywhere; }
header { font-weight: bold; margin-bottom: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 1rem; } h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
a { color: var(--accent); }
form { margin: 1rem 0; } label { display: block; font-weight: 600; }
input, select { font: inherit; color: inherit; background: var(--page); width: 100%; padding: .6rem;
  min-height: 2.75rem; border: 1px solid var(--line); border-radius: .3rem; }
fieldset { border: 1px solid var(--line); border-radius: .3rem; margin: 0 0 1rem; } legend { font-weight: 600; }
.check { font-weight: normal; padding: .4rem 0; } .check input { width: 1.25rem; min-height: 1.25rem; height: 1.25rem;
  vertical-align: middle; margin: 0 .4rem 0 0; }
input[aria-invalid] { border: 2px solid var(--alarm); }
button, .button { display: inline-block; font: inherit; font-weight: 600; min-height: 2.75rem; padding: .5rem 1rem;
  cursor: pointer; color: var(--on-accent); background: var(--accent); border: 1px solid var(--accent);
  border-radius: .3rem; text-decoration: none; }
button.quiet { color: var(--accent); background: transparent; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.field { margin: 0 0 1rem; } .hint { display: block; color: var(--soft); } .error { display: block; color: var(--alarm);
  font-weight: 600; } input + .hint, input + .error { margin-top: .3rem; }
.notice { background: var(--card); border-left: 4px solid var(--accent); padding: .6rem 1rem; }
.items { list-style: none; margin: 0; padding: 0; }
.items li { background: var(--card); border-radius: .3rem; padding: .6rem 1rem; margin: 0 0 .5rem; }
.items form { margin: .3rem 0 0; } summary { cursor: pointer; color: var(--accent); min-height: 1.75rem; }
.qr { display: block; width: 14rem; max-width: 100%; background: #fff; } .qr svg { display: block; width: 100%; }
code { font-size: 1.1rem; } ol.codes { columns: 2; column-gap: 3rem; font-family: monospace; font-size: 1.1rem; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
[hidden] { display: none; }
@media (max-width: 30rem) { ol.codes { columns: 1; } }
`
