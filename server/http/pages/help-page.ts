import { html } from '@drawbridge/shared/html.ts'
import { fillHtml } from '../../texts/text.ts'
import { type AppView, layout, type PageView } from './layout.ts'

/** Contents of the page for people whose client does not connect. Every text is escaped. */
export interface HelpView extends AppView, PageView {
  url: string
  /** The address is on this computer: others cannot use it. */
  isLocal: boolean
  startUrl: string
}

/** Renders what a person can do about a client that does not connect. Knows nothing of their attempt. */
export function helpPage(view: HelpView): string {
  const { appName, url } = view
  const texts = view.language.texts.help
  const steps = [
    fillHtml(texts.address, { url: html`<code>${url}</code>` }),
    texts.again,
    texts.browser,
    fillHtml(texts.account, { app: html`<bdi>${appName}</bdi>` }),
    view.isLocal ? texts.local : texts.network,
  ]
  return layout(view, {
    title: texts.heading,
    bridge: 'raised',
    gate: html`<h1>${texts.heading}</h1>
      <p class="ask">${texts.ask}</p>`,
    main: html`<div class="court-inner">
      <section class="next" aria-labelledby="steps">
        <h2 id="steps">${texts.steps}</h2>
        <ol class="steps">
          ${steps.map((step) => html`<li>${step}</li>`)}
        </ol>
        <p>${texts.report}</p>
        <p><a class="link alone" href="${view.startUrl}">${texts.back}</a></p>
      </section>
    </div>`,
  })
}
