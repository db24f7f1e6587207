import { pageGround } from '../../core/accent.ts'

/**
 * The one stylesheet of all pages. Served inline and allowed in the Content-Security-Policy by its hash, so it is a constant:
 * nothing from a request ever enters it. System fonts, one accent colour (the green of weathered copper, or the app's: `look.ts`),
 * light and dark, from 320 px up.
 */
export const style: string = `
:root {
  color-scheme: light dark;
  --gate: #10302d;
  --gate-stone: #1a4540;
  --gate-water: #0b2523;
  --gate-text: #f0f6f3;
  --gate-quiet: #a9c4bd;
  --gate-line: #2b5751;
  --gate-bright: #8ce0c9;
  --gate-amber: #ffd58a;
  --court: ${pageGround.light};
  --text: #15211f;
  --quiet: #50605c;
  --line: #d3dcd9;
  --edge: #74857f;
  --field: #ffffff;
  --accent: #0b6658;
  --accent-strong: #084f44;
  --on-accent: #ffffff;
  --wash: #eef4f2;
  --alert-text: #8a1c12;
  --alert-wash: #fdefed;
  --alert-line: #e5b4ae;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", "Segoe UI Mono", Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --gate: #0b2421;
    --gate-stone: #143b36;
    --gate-water: #081a18;
    --gate-line: #234a44;
    --court: ${pageGround.dark};
    --text: #e8eeec;
    --quiet: #a3b3ae;
    --line: #2d3836;
    --edge: #74857f;
    --field: #0d1211;
    --accent: #7fd8c1;
    --accent-strong: #a3e8d6;
    --on-accent: #05231d;
    --wash: #1c2523;
    --alert-text: #ffc4bc;
    --alert-wash: #351a17;
    --alert-line: #6d352e;
  }
}
*, *::before, *::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--court); color: var(--text); font: 400 1rem/1.5 var(--sans); }
h1, h2, h3, p, dl, dd, ul { margin: 0; padding: 0; }
h1, h2, h3, p, dt, dd, li { overflow-wrap: anywhere; }
h1 { font-size: 1.75rem; line-height: 1.2; font-weight: 650; letter-spacing: -0.015em; text-wrap: balance; }
h2 { font-size: 1.125rem; line-height: 1.35; font-weight: 600; text-wrap: balance; }

.crossing { min-height: 100vh; min-height: 100dvh; display: flex; flex-direction: column; }
.gate { background: var(--gate); color: var(--gate-text); overflow: hidden; }
.gate-inner { padding: 1.25rem 1.25rem 1.75rem; max-width: 36rem; margin: 0 auto; width: 100%; }
.court { flex: 1; }
.court-inner { padding: 2rem 1.25rem 2.5rem; max-width: 36rem; margin: 0 auto; display: flex; flex-direction: column; gap: 1.25rem; }

.brand { display: flex; flex-wrap: wrap; min-height: 2rem; align-items: center; gap: 0.625rem; font-weight: 600; letter-spacing: -0.005em; }
.mark { color: var(--gate-bright); flex: none; }
.logo { flex: none; height: 2.5rem; max-width: 10rem; margin-block: -0.25rem; padding: 0.25rem 0.375rem; border-radius: 0.5rem; background: #ffffff; object-fit: contain; color-scheme: only light; forced-color-adjust: none; }
.logo + bdi { flex: 1 1 8rem; }
.glyph { flex: none; vertical-align: -0.125em; }
.gate h1 { margin-top: 1.75rem; }

.ask { margin-top: 0.625rem; color: var(--gate-quiet); text-wrap: pretty; }
.facts { margin-top: 1.75rem; display: grid; gap: 1rem; }
dt, .allows { font-size: 0.875rem; line-height: 1.4; font-weight: 400; color: var(--gate-quiet); }
.host { font-family: var(--mono); font-weight: 600; overflow-wrap: anywhere; }
.address { font-family: var(--mono); font-size: 0.9375em; overflow-wrap: anywhere; }
.facts .host { font-size: 1.375rem; line-height: 1.3; color: var(--gate-bright); margin-right: 0.375rem; }
.subdomain { font-weight: 400; opacity: 0.8; }
.claim { max-width: 28rem; }
.note { display: inline-flex; align-items: center; gap: 0.25rem; font-size: 0.875rem; color: var(--gate-quiet); }
.claim .note { display: block; }
.warning, .alert { display: flex; gap: 0.625rem; padding: 0.75rem 0.875rem; border: 1px solid; border-radius: 0.5rem; }
.warning .glyph, .alert .glyph { margin-top: 0.25rem; }
.warning { margin-top: 1.25rem; color: var(--gate-amber); }
.alert { color: var(--alert-text); background: var(--alert-wash); border-color: var(--alert-line); }
.allows { margin-top: 1.5rem; padding-top: 1.25rem; border-top: 1px solid var(--gate-line); }
.permissions { list-style: none; margin-top: 0.5rem; display: grid; gap: 0.375rem; }
.permissions li { padding-left: 1.25rem; position: relative; }
.permissions li::before { content: ""; position: absolute; left: 0.125rem; top: 0.55em; width: 0.4375rem; height: 0.4375rem; background: var(--gate-bright); transform: rotate(45deg); }

.stack { display: flex; flex-direction: column; gap: 1rem; }
.field { display: flex; flex-direction: column; gap: 0.375rem; }
label { font-weight: 550; }
input, textarea { width: 100%; min-height: 3rem; padding: 0.625rem 0.875rem; border: 1px solid var(--edge); border-radius: 0.5rem; background: var(--field); color: inherit; font: inherit; }
textarea { resize: vertical; }
.heading { display: grid; gap: 0.375rem; }
.code { font: 600 1.375rem/1.2 var(--mono); letter-spacing: 0.2em; font-variant-numeric: tabular-nums; }
.user-code { font-size: 1.75rem; min-height: 4rem; text-align: center; text-transform: uppercase; }
.compared { display: grid; place-content: center; border-radius: 0.5rem; background: var(--wash); }
.sample { font-family: var(--mono); white-space: nowrap; }
.choices { margin: 0; padding: 0; border: 0; min-width: 0; display: grid; gap: 0.5rem; }
legend { padding: 0; margin-bottom: 0.375rem; font-weight: 550; }
.choice { display: flex; align-items: center; gap: 0.75rem; min-height: 3rem; padding: 0.625rem 0.875rem; border: 1px solid var(--edge); border-radius: 0.5rem; background: var(--field); font-weight: 400; overflow-wrap: anywhere; cursor: pointer; }
.choice:hover { background: var(--wash); }
.choice:has(:checked) { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
.choice input { flex: none; width: 1.25rem; min-height: 1.25rem; height: 1.25rem; margin: 0; accent-color: var(--accent); }
.h-captcha { min-height: 4.875rem; }
.cf-turnstile { min-height: 4.0625rem; }
/* In a dark page the widget's frame would otherwise get a white ground: it has its colours from us, not from the browser. */
iframe[src*="hcaptcha.com"] { color-scheme: light; }
.button { display: flex; align-items: center; justify-content: center; min-height: 3rem; width: 100%; padding: 0.625rem 1.125rem; border: 1px solid transparent; border-radius: 0.5rem; font: 600 1rem/1.35 var(--sans); text-align: center; text-wrap: balance; text-decoration: none; overflow-wrap: anywhere; cursor: pointer; }
.primary { background: var(--accent); color: var(--on-accent); }
.primary:hover { background: var(--accent-strong); }
.secondary { background: var(--field); color: var(--text); border-color: var(--edge); }
.secondary:hover { background: var(--wash); }
.plain { background: none; color: var(--text); border-color: var(--line); font-weight: 500; }
.plain:hover { background: var(--wash); color: var(--text); }
.danger { background: var(--alert-text); color: var(--court); }
.danger:hover { filter: brightness(0.92); }
.end { width: auto; min-height: 2.75rem; padding: 0.375rem 1rem; background: none; color: var(--text); border-color: var(--line); font-weight: 500; }
.end:hover { background: var(--alert-wash); color: var(--alert-text); border-color: var(--alert-line); }
.on-gate { width: auto; background: none; color: var(--gate-text); border-color: var(--gate-quiet); font-weight: 500; }
.on-gate:hover { background: var(--gate-stone); }
.gate .ask .link { color: var(--gate-text); }
.gate :focus-visible { outline-color: var(--gate-bright); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.or { display: flex; align-items: center; gap: 0.875rem; color: var(--quiet); font-size: 0.875rem; }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line); }
.cancel { margin-top: -0.5rem; }
.link { color: var(--accent); text-underline-offset: 0.2em; overflow-wrap: anywhere; }
.alone { display: inline-flex; align-items: center; min-height: 2.75rem; }
.link:hover { color: var(--accent-strong); text-decoration-thickness: 2px; }
.court-foot { border-top: 1px solid var(--line); padding-top: 1.25rem; display: grid; gap: 0.5rem; color: var(--quiet); font-size: 0.9375rem; }

.site-links { max-width: 36rem; margin: 0 auto; padding: 0 1.25rem 2rem; display: flex; flex-wrap: wrap; gap: 0.5rem 1.5rem; font-size: 0.875rem; }

.gate-form { margin-top: 1.5rem; display: flex; }
.done, .note-box { display: flex; gap: 0.625rem; padding: 0.75rem 0.875rem; border-radius: 0.5rem; background: var(--wash); }
.done .glyph { margin-top: 0.25rem; color: var(--accent); }
.note-box .host, .alert .host { font-size: 0.9375em; }
.connections { list-style: none; display: grid; gap: 1rem; }
.connection { position: relative; border: 1px solid var(--line); border-radius: 0.625rem; padding: 1rem 1.125rem 1.125rem; background: var(--field); }
.connection-head { display: flow-root; }
.connection-head .end { float: right; margin-left: 0.75rem; visibility: hidden; }
.connection h3 { font-size: 1.0625rem; line-height: 1.35; font-weight: 600; display: grid; gap: 0.125rem; min-height: 2.75rem; align-content: center; }
.end-one summary { position: absolute; top: 1rem; right: 1.125rem; }
.end-one form { margin-top: 0.75rem; padding-bottom: 1.25rem; border-bottom: 1px solid var(--line); }
.connection .alert, .connection .note-box { margin-top: 0.75rem; font-size: 0.9375rem; }
.connection .text { white-space: pre-wrap; }
.connection form.address-line { justify-content: space-between; margin-top: 0.75rem; }
.own-name.quiet { font-weight: 400; }
.details { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(8.5rem, 100%), 1fr)); gap: 0.75rem 1.25rem; margin-top: 0.75rem; }
.details .wide { grid-column: 1 / -1; }
.details dt { font-size: 0.8125rem; color: var(--quiet); }
.details dd { font-size: 0.9375rem; }
.details dd + dd { margin-top: 0.25rem; }
.end-all summary, .end-one summary { list-style: none; }
.end-all summary::-webkit-details-marker, .end-one summary::-webkit-details-marker { display: none; }
.end-all form { margin-top: 1rem; }

.mcp-address { margin-top: 1.75rem; }
.mcp-address .allows { margin-top: 0; }
.mcp-address .note { margin-top: 0.75rem; }
.address-line { display: flex; flex-wrap: wrap; align-items: center; gap: 0.75rem 1rem; margin-top: 1rem; }
.address-line code { font-size: 1rem; color: var(--gate-bright); user-select: all; flex: 0 1 auto; min-width: 0; }
.copy { width: auto; min-width: 5.5rem; min-height: 2.75rem; padding: 0.375rem 0.875rem; font-weight: 500; flex: none; }
.copy[hidden] { display: none; }
.one-click { display: flex; flex-wrap: wrap; gap: 0.625rem; }
.one-click .button { flex: 1 1 30%; width: auto; padding-inline: 0.5rem; overflow-wrap: normal; }
.clients { border-top: 1px solid var(--line); }
.clients + .court-foot { border-top: 0; padding-top: 0; }
.client { border-bottom: 1px solid var(--line); }
.client summary { list-style: none; display: flex; align-items: center; gap: 0.75rem; min-height: 3rem; padding: 0.5rem 0.25rem; cursor: pointer; }
.client summary::-webkit-details-marker { display: none; }
.client summary > :first-child { font-weight: 550; flex: 1 0 min-content; overflow-wrap: normal; }
.client summary .quiet { text-align: right; }
.client summary::after { content: ""; flex: none; width: 0.5rem; height: 0.5rem; margin: 0 0.25rem 0.25rem; border: solid var(--edge); border-width: 0 2px 2px 0; transform: rotate(45deg); }
.client[open] summary::after { transform: rotate(225deg); margin-bottom: -0.25rem; }
.client summary:hover { background: var(--wash); }
.client-steps { display: grid; gap: 0.75rem; padding: 0.25rem 0.25rem 1.25rem; }
.snippet-head { display: flex; align-items: center; justify-content: space-between; gap: 0.75rem; }
.snippet-head p { min-width: 0; }
.snippet { margin: 0; padding: 0.75rem 0.875rem; border: 1px solid var(--line); border-radius: 0.5rem; background: var(--field); font: 0.875rem/1.5 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; }
.snippet code { font: inherit; user-select: all; }
.client-steps p code, .permissions code { font: 0.9375em var(--mono); overflow-wrap: anywhere; }
.steps { margin: 0 0 1rem; padding-left: 1.5rem; display: grid; gap: 0.75rem; }
.steps code { font: 0.9375em var(--mono); overflow-wrap: anywhere; }
.later { margin-top: 0.75rem; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

.quiet { color: var(--quiet); font-size: 0.9375rem; }
.detail { padding: 0.75rem 0.875rem; background: var(--wash); border-radius: 0.5rem; font-size: 0.9375rem; }
.next code { font: 0.9375em var(--mono); overflow-wrap: anywhere; }
.next { display: grid; gap: 0.5rem; padding-top: 1.25rem; border-top: 1px solid var(--line); }
.next:first-child { padding-top: 0; border-top: 0; }
.request-id { color: var(--quiet); font-size: 0.8125rem; }
.request-id code { font-family: var(--mono); user-select: all; }

.scene { display: none; }
.stone { fill: var(--gate-stone); }
.water { fill: var(--gate-water); }
.deck { fill: none; stroke: var(--gate-bright); stroke-width: 7; }
.chain { fill: none; stroke: var(--gate-bright); stroke-width: 1.5; stroke-dasharray: 5 3; }

@media (max-width: 22.4375rem) {
  .captcha { margin-inline: -1.25rem; display: flex; justify-content: center; }
}
@media (min-width: 56rem) {
  .crossing { flex-direction: row; }
  .gate { flex: 1 1 50%; display: flex; flex-direction: column; align-items: flex-end; }
  .gate-inner { max-width: 33rem; margin: 0; padding: 2.5rem 4rem 2.5rem 2.5rem; }
  .court { flex: 1 1 50%; }
  .court-inner { max-width: 32rem; width: 100%; margin: 0; padding: 7.25rem 2.5rem 3rem 4.5rem; }
  .site-links { max-width: 32rem; margin: 0; padding: 0 2.5rem 3rem 4.5rem; }
  .gate h1 { margin-top: 2.5rem; font-size: 2.125rem; }
  .address-line code { font-size: 1.125rem; }
  .court h2 { font-size: 1.25rem; }
  .scene { width: 100%; height: 13.5rem; flex: none; margin-top: auto; overflow: visible; }
}
@media (min-width: 56rem) and (min-height: 44rem) {
  .scene { display: block; }
}
@media (prefers-reduced-motion: no-preference) {
  .button, .link { transition: background-color 120ms ease-out, color 120ms ease-out; }
}
/*
 * A mouse has to be on the page for half a second before it can press what allows: the second click of a double click, whose
 * first one closed a window that lay above, comes sooner. Keyboards and fingers are not asked to wait.
 */
@media (hover: hover) and (pointer: fine) and (not (any-pointer: coarse)) {
  .deliberate { pointer-events: none; }
  :root:hover .deliberate { pointer-events: auto; transition: pointer-events 0s 500ms allow-discrete; }
}
@media (forced-colors: active) {
  .button { border-color: ButtonText; }
  .mark { color: CanvasText; }
  .permissions li::before { background: CanvasText; forced-color-adjust: none; }
  .scene { display: none; }
}
`
