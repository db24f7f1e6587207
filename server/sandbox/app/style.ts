import { createHash } from 'node:crypto'

/** The style sheet of every page. Plain CSS: one palette, inverted for dark screens. */
export const STYLE = `
:root{color-scheme:light dark;
--paper:#f6f2e8;--rule:#ddd5c0;--card:#fffdf7;--ink:#24261f;--soft:#5c5f52;--line:#d9d2bf;--field:#8b8874;
--accent:#1f5a41;--accent-hover:#17452f;--on-accent:#fffdf7;--wash:#e6efe6;--danger:#97301f;--danger-wash:#f9e6e0;--mark:#f3cf5b;
--serif:ui-serif,"Iowan Old Style","Palatino Linotype",Palatino,Charter,Georgia,serif;
--sans:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;
--mono:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
@media(prefers-color-scheme:dark){:root{
--paper:#151712;--rule:#2b2f26;--card:#20231c;--ink:#f0ecdf;--soft:#b0b2a2;--line:#3a3e33;--field:#7f8473;
--accent:#93d3ac;--accent-hover:#b2e3c4;--on-accent:#102017;--wash:#233026;--danger:#ffab99;--danger-wash:#3a211b;--mark:#c79f2c}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;min-height:100vh;min-height:100dvh;display:flex;flex-direction:column;color:var(--ink);font:1rem/1.6 var(--sans);background:var(--paper)}
a{color:var(--accent);text-underline-offset:.2em}
a:hover{color:var(--accent-hover)}
:focus-visible{outline:3px solid var(--accent);outline-offset:3px;border-radius:4px}
h1,h2{font-family:var(--serif);font-weight:600;line-height:1.15;letter-spacing:-.01em;margin:0;text-wrap:balance}
p{margin:0;text-wrap:pretty}
.skip{position:absolute;left:1rem;top:-4rem;background:var(--card);padding:.5rem 1rem;border-radius:6px;z-index:1}
.skip:focus{top:.75rem}
header,main,footer{width:100%;max-width:66rem;margin-inline:auto;padding-inline:clamp(1rem,4vw,2.5rem)}
header{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem 1.25rem;padding-block:1.25rem}
.brand{display:inline-flex;align-items:center;gap:.6rem;margin-right:auto;font:600 1.35rem/1 var(--serif);color:var(--ink);text-decoration:none}
.brand:hover{color:var(--accent)}
.brand svg{width:1.75rem;height:1.75rem;flex:none}
.account{display:flex;flex-wrap:wrap;align-items:center;gap:.25rem 1rem;min-width:0;font-size:.9375rem}
.account span{color:var(--soft);overflow-wrap:anywhere}
main{flex:1;padding-block:clamp(1rem,4vw,3rem) 3rem}
footer{padding-block:1.25rem;color:var(--soft);font-size:.875rem}
footer p{border-top:1px solid var(--line);padding-top:1rem}
.card{background:var(--card);border:1px solid var(--line);border-radius:14px;padding:clamp(1.25rem,4vw,2rem);box-shadow:0 1px 2px rgb(0 0 0/.05),0 18px 40px -28px rgb(0 0 0/.4)}
.welcome{display:grid;gap:clamp(2rem,6vw,5rem);align-items:center}
@media(min-width:54rem){.welcome{grid-template-columns:1.15fr minmax(22rem,25rem)}}
.pitch h1{font-size:clamp(2.1rem,1.4rem + 3.6vw,3.6rem)}
.pitch h1 em{font-style:normal;background:linear-gradient(transparent 62%,var(--mark) 62% 92%,transparent 92%)}
@media(prefers-color-scheme:dark){.pitch h1 em{background:linear-gradient(transparent 88%,var(--mark) 88% 96%,transparent 96%)}}
.pitch p{margin-top:1.25rem;max-width:34rem;color:var(--soft);font-size:1.125rem}
.samples{list-style:none;margin:2.25rem 0 0;padding:0;display:none;gap:1rem}
@media(min-width:54rem){.samples{display:flex}}
.samples li{flex:1;max-width:15rem;background:var(--card);border:1px solid var(--line);border-radius:4px;padding:1.1rem 1.2rem 1.3rem;font:1.0625rem/1.45 var(--serif);rotate:-1.6deg;box-shadow:0 10px 24px -18px rgb(0 0 0/.6)}
.samples li+li{rotate:1.2deg;translate:0 .8rem}
form{margin:0}
.stack{display:grid;gap:1.1rem}
.stack h1,.stack h2{font-size:1.6rem}
label,.label{display:block;font-weight:600;margin-bottom:.35rem;font-size:.9375rem}
input,textarea{width:100%;font:inherit;color:inherit;background:var(--paper);border:1px solid var(--field);border-radius:8px;padding:.65rem .8rem;min-height:2.9rem}
textarea{display:block;min-height:calc(8.35rem + 1px);resize:vertical;padding-block:.35rem 0;font:1.125rem/2rem var(--serif);
background:var(--paper) repeating-linear-gradient(transparent 0 calc(2rem - 1px),var(--rule) calc(2rem - 1px) 2rem) 0 .35rem local}
input:focus-visible,textarea:focus-visible{outline-offset:1px;border-radius:8px}
[aria-invalid=true]{border-color:var(--danger)}
.hint{font-size:.875rem;color:var(--soft);margin-top:.35rem}
button,.button{display:inline-flex;align-items:center;justify-content:center;gap:.6rem;min-height:2.9rem;padding:.6rem 1.15rem;font:600 1rem/1.2 var(--sans);border-radius:8px;border:1px solid transparent;background:var(--accent);color:var(--on-accent);cursor:pointer}
button:hover{background:var(--accent-hover)}
button:focus-visible{border-radius:8px}
.wide{width:100%}
[hidden]{display:none}
.quiet,.secondary{background:transparent;color:var(--ink);border-color:var(--field)}
.quiet:hover,.secondary:hover{background:var(--wash);border-color:var(--accent)}
.link{background:none;border:0;min-height:2.75rem;padding:0 .25rem;color:var(--accent);text-decoration:underline;text-underline-offset:.2em;font-weight:500;font-size:.9375rem}
.link:hover{background:none;color:var(--accent-hover)}
.link.delete{color:var(--danger)}
.or{display:flex;align-items:center;gap:.9rem;color:var(--soft);font-size:.875rem}
.or::before,.or::after{content:"";flex:1;height:1px;background:var(--line)}
.alert{border-radius:8px;padding:.7rem .95rem;font-size:.9375rem;border:1px solid}
.alert{color:var(--danger);background:var(--danger-wash);border-color:currentColor}
.desk{display:grid;gap:2rem}
@media(min-width:54rem){.desk{grid-template-columns:minmax(0,1fr) 20rem;align-items:start}.connect{position:sticky;top:1.5rem}}
.desk h1{font-size:clamp(1.9rem,1.5rem + 2vw,2.6rem);margin-bottom:1.25rem}
.compose{display:grid;gap:.9rem;margin-bottom:1.75rem;padding:1.25rem}
.compose .foot{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;justify-content:space-between}
.compose .hint{margin:0}
.notes{list-style:none;margin:0;padding:0;display:grid;gap:1rem}
.note{padding:1.1rem 1.25rem .45rem}
.note p{font:1.125rem/1.6 var(--serif);white-space:pre-wrap;overflow-wrap:anywhere;text-wrap:wrap}
.note .foot{display:flex;flex-wrap:wrap;align-items:center;justify-content:space-between;gap:0 1rem;margin-top:.35rem;color:var(--soft);font-size:.875rem}
.empty{text-align:center;padding:2.5rem 1.25rem;border-style:dashed;box-shadow:none}
.empty p:first-child{font:600 1.25rem/1.3 var(--serif)}
.empty p+p{color:var(--soft);margin-top:.4rem}
.connect{padding:1.25rem}
.connect h2{font-size:1.35rem}
.connect ol{margin:0;padding-left:1.2rem;display:grid;gap:.5rem;color:var(--soft)}
.connect code{font:.875rem var(--mono);user-select:all}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.address{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem}
.address code{flex:1 1 14rem;min-width:0;overflow-wrap:anywhere}
.plain{max-width:32rem;margin-inline:auto}
.mail{display:grid;gap:.35rem;border-top:1px solid var(--line);padding-top:1.1rem;overflow-wrap:anywhere}
.mail h2{font-size:1.15rem}
.mail .hint{margin:0}
.narrow{max-width:27rem;margin-inline:auto}
@media(prefers-reduced-motion:no-preference){button,.brand,a{transition:background-color .15s,color .15s,border-color .15s}}
`

/** Source expression of the style sheet for `style-src` (CSP level 3, section 2.3.1). */
export const styleSource: string = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`

/** The icon of the app, in its own colours: a page with a fold and two lines. */
export const ICON: string =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#1f5a41"/>' +
  '<path d="M9 7h10l5 5v13H9z" fill="#fffdf7"/><path d="M19 7l5 5h-5z" fill="#f3cf5b"/>' +
  '<path d="M12.5 16h8M12.5 20h6" stroke="#1f5a41" stroke-width="1.8" stroke-linecap="round"/></svg>'
