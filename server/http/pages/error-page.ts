import { html } from '@drawbridge/shared/html.ts'
import { fillHtml } from '../../texts/text.ts'
import { aloneLink, type AppView, layout, type PageView } from './layout.ts'
import { hostName } from './names.ts'

/** Contents of the error page. Every field is text; none of it is treated as markup. */
export interface ErrorView extends PageView {
  title: string
  message: string
  /** The reader's next step; commands are in backticks. */
  nextStep: string
  /** Identifies this request in the server's log. */
  requestId: string
  app?: Pick<AppView, 'appName' | 'appUrl'>
  /** The connect page, offered if there is no other link. */
  startUrl?: string
  /** The way back to a client that is not trusted: its address with the refusal, and its host. */
  back?: { url: string; host: string }
  /** Technical text for the client's developer, for example the parameter that was refused. */
  detail?: string
}

/**
 * Renders a failure that cannot be reported to the client: what happened, why, the next step, then the request id for support. Does
 * not check the texts for secrets; the caller writes them.
 */
export function errorPage(view: ErrorView): string {
  const { back, app, startUrl } = view
  const { common, errorPage: texts } = view.language.texts
  return layout(view, {
    title: view.title,
    bridge: 'raised',
    gate: html`<h1>${view.title}</h1>
      <p class="ask">${view.message}</p>`,
    main: html`<div class="court-inner">
      ${view.detail !== undefined && html`<p class="detail"><bdi>${view.detail}</bdi></p>`}
      <section class="next" aria-labelledby="next-step">
        <h2 id="next-step">${texts.whatToDo}</h2>
        <p>${fillHtml(view.nextStep, {})}</p>
        ${back && aloneLink(back.url, fillHtml(common.goTo, { place: hostName(back.host) }))}
        ${app && aloneLink(app.appUrl, fillHtml(common.goTo, { place: app.appName }))}
        ${startUrl !== undefined && aloneLink(startUrl, texts.howToConnect)}
      </section>
      <p class="request-id">${fillHtml(texts.requestId, { id: html`<code>${view.requestId}</code>` })}</p>
    </div>`,
  })
}
