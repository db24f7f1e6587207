import { html, rawHtml, type SafeHtml } from '@drawbridge/shared/html.ts'

export type BridgePosition = 'raised' | 'lowering' | 'lowered'

// A gate tower with three merlons, the deck at its foot, and the chain that holds the deck.
const markShapes =
  '<path d="M3 5h3v3h2.5V5h3v3H14V5h3v22h-4v-6a3 3 0 0 0-6 0v6H3z" fill="currentColor"/>' +
  '<path d="M17 25.5 29 20" stroke="currentColor" stroke-width="3" fill="none"/>' +
  '<path d="m17 9 11 10.5" stroke="currentColor" stroke-width="1.5" fill="none"/>'

/** The mark next to the name: a tower with its deck half-way down. Decorative, so hidden from assistive technology. */
export const bridgeMark: SafeHtml = html`<svg
  class="mark"
  viewBox="0 0 32 32"
  width="32"
  height="32"
  aria-hidden="true"
  focusable="false"
>
  ${rawHtml(markShapes)}
</svg>`

/** The mark as an icon for the tab, in an accent colour that works on light and dark tabs. */
export const markIconUrl: string = `data:image/svg+xml,${encodeURIComponent(
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" color="#1f8f7b">${markShapes}</svg>`,
)}`

/** An icon for the tab of an app without a logo: its colour alone. */
export function iconOf(colour: string): string {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="${colour}"/></svg>`
  return `data:image/svg+xml,${encodeURIComponent(svg)}`
}

// The scene's frame is 480 by 216. Its right edge is the bank on which the deck lands; its wall runs on to the left
// beyond the frame, as far as the widest window.
const hinge = { x: 341, y: 182 }
const deckLength = 480 - hinge.x
const chainTop = { x: 336, y: 62 }
const degreesUp: Readonly<Record<BridgePosition, number>> = { raised: 90, lowering: 27, lowered: 0 }

const wall = `M-1975 216V124${'h20v-12h16v12'.repeat(62)}V216z`
const tower =
  'M252 216V68h-8V34h14v14h12V34h14v14h12V34h14v14h12V34h14v34h-8v108h14v12h-14v28zM274 88v28h6V88zM300 88v28h6V88z'

/** The drawing at the foot of the gate side. Decorative, so hidden from assistive technology. */
export function bridgeScene(position: BridgePosition): SafeHtml {
  const angle = (degreesUp[position] * Math.PI) / 180
  const along = (part: number): string =>
    `${(hinge.x + Math.cos(angle) * deckLength * part).toFixed(1)} ${(hinge.y - Math.sin(angle) * deckLength * part).toFixed(1)}`
  return html`<svg
    class="scene"
    viewBox="0 0 480 216"
    preserveAspectRatio="xMaxYMax meet"
    aria-hidden="true"
    focusable="false"
  >
    <path class="stone" d="${wall}" />
    <path class="stone" fill-rule="evenodd" d="${tower}" />
    <path class="water" d="M-2004 198H480v18H-2004z" />
    ${position !== 'raised' && html`<path class="chain" d="M${chainTop.x} ${chainTop.y} ${along(0.86)}" />`}
    <path class="deck" d="M${hinge.x} ${hinge.y} ${along(1)}" />
  </svg>`
}

/** A tick before a proven fact. Decorative: the words next to it say the same. */
export const checkGlyph: SafeHtml = glyph(
  '<path d="m3 8.5 3.2 3.2L13 5" stroke-width="2" stroke-linecap="round"/>',
)

/** A warning triangle before a sentence. Decorative: the sentence says it all. */
export const alertGlyph: SafeHtml = glyph(
  '<path d="M8 1.8 15 14H1z" stroke-width="1.6"/>' +
    '<path d="M8 6.2v3.6M8 11.6v.6" stroke-width="1.6" stroke-linecap="round"/>',
)

function glyph(paths: string): SafeHtml {
  return html`<svg
    class="glyph"
    viewBox="0 0 16 16"
    width="16"
    height="16"
    aria-hidden="true"
    focusable="false"
    fill="none"
    stroke="currentColor"
    stroke-linejoin="round"
  >
    ${rawHtml(paths)}
  </svg>`
}
