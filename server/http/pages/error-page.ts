import { html } from '@drawbridge/shared/html.ts'
import { type AppView, layout } from './layout.ts'
import { hostName } from './names.ts'

/** What the error page shows. Every field is text; nothing in it is treated as markup. */
export interface ErrorView {
  /** What happened, as a short heading. */
  title: string
  /** Why it happened, in a sentence or two. */
  message: string
  /** What the reader should do now. */
  nextStep: string
  /** Identifies this request in the server's log. */
  requestId: string
  /** The web app, offered as a way out. */
  app?: AppView
  /** The way back to a client that is not trusted: its address with the refusal, and its host. */
  back?: { url: string; host: string }
  /** Technical text for the client's developer, for example the parameter that was refused. */
  detail?: string
}

/**
 * How a failure that cannot be reported to the client is shown to the person: what happened, why, the next step, then the
 * request ID for support. Not checked: that the texts contain no secret; the caller writes them.
 */
export function errorPage(view: ErrorView): string {
  return layout({
    links: view.app?.links,
    title: view.title,
    bridge: 'raised',
    gate: html`<h1>${view.title}</h1>
      <p class="ask">${view.message}</p>`,
    main: html`<div class="court-inner">
      ${view.detail === undefined ? '' : html`<p class="detail"><bdi>${view.detail}</bdi></p>`}
      <section class="next" aria-labelledby="next-step">
        <h2 id="next-step">What to do now</h2>
        <p>${view.nextStep}</p>
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
      </section>
      <p class="request-id">Request ID <code>${view.requestId}</code></p>
    </div>`,
  })
}
