import { html } from '@drawbridge/shared/html.ts'
import type { SafeHtml } from '@drawbridge/shared/html.ts'

/** A tick before a fact that was proven. Decoration: the words beside it say the same. */
export const checkGlyph: SafeHtml = html`<svg
  class="glyph"
  viewBox="0 0 16 16"
  width="16"
  height="16"
  aria-hidden="true"
  focusable="false"
>
  <path
    d="m3 8.5 3.2 3.2L13 5"
    fill="none"
    stroke="currentColor"
    stroke-width="2"
    stroke-linecap="round"
    stroke-linejoin="round"
  />
</svg>`

/** A warning triangle before a sentence. Decoration: the sentence says it all. */
export const alertGlyph: SafeHtml = html`<svg
  class="glyph"
  viewBox="0 0 16 16"
  width="16"
  height="16"
  aria-hidden="true"
  focusable="false"
>
  <path d="M8 1.8 15 14H1z" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linejoin="round" />
  <path d="M8 6.2v3.6M8 11.6v.6" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" />
</svg>`
