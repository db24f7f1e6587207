import { html } from '@drawbridge/shared/html.ts'
import type { BridgePosition } from './bridge-mark.ts'
import { layout } from './layout.ts'

/** What a page shows that only tells how something ended. Every text is escaped. */
export interface MessageView {
  title: string
  bridge: BridgePosition
  message: string
  /** What the reader does now. */
  nextStep: string
  /** A way on, where there is one. */
  link?: { url: string; label: string }
}

/** Decides how an end that is no failure reads: what is so now, then what to do. */
export function messagePage(view: MessageView): string {
  return layout({
    title: view.title,
    bridge: view.bridge,
    main: html`<div class="court-inner">
      <h1>${view.title}</h1>
      <p class="lead">${view.message}</p>
      <p>${view.nextStep}</p>
      ${view.link && html`<p><a class="link alone" href="${view.link.url}">${view.link.label}</a></p>`}
    </div>`,
  })
}
