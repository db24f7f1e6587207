import { html } from '@drawbridge/shared/html.ts'
import { type AppView, layout, withCode } from './layout.ts'
import type { Look } from './look.ts'
import { hostName } from './names.ts'

/** Contents of the error page. Every field is text; none of it is treated as markup. */
export interface ErrorView {
  look: Look
  title: string
  message: string
  /** What the reader should do now; commands are in backticks. */
  nextStep: string
  /** Identifies this request in the server's log. */
  requestId: string
  app?: AppView
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
  return layout({
    look: view.look,
    links: view.app?.links,
    title: view.title,
    bridge: 'raised',
    gate: html`<h1>${view.title}</h1>
      <p class="ask">${view.message}</p>`,
    main: html`<div class="court-inner">
      ${view.detail === undefined ? '' : html`<p class="detail"><bdi>${view.detail}</bdi></p>`}
      <section class="next" aria-labelledby="next-step">
        <h2 id="next-step">What to do now</h2>
        <p>${withCode(view.nextStep)}</p>
        ${
          view.back === undefined
            ? ''
            : html`<p>
                <a class="link alone" rel="noreferrer" href="${view.back.url}"
                  ><span>Go to ${hostName(view.back.host)}</span></a
                >
              </p>`
        }
        ${
          view.app === undefined
            ? ''
            : html`<p><a class="link alone" href="${view.app.appUrl}">Go to ${view.app.appName}</a></p>`
        }
        ${
          view.startUrl !== undefined &&
          html`<p><a class="link alone" href="${view.startUrl}">See how to connect an AI client</a></p>`
        }
      </section>
      <p class="request-id">Request ID <code>${view.requestId}</code></p>
    </div>`,
  })
}
