import { html } from '@drawbridge/shared/html.ts'
import type { BridgePosition } from './drawings.ts'
import { fillHtml } from '../../texts/text.ts'
import { hostName, quotedName } from './names.ts'
import { layout, type PageView } from './layout.ts'

/** Contents of the page after signing in or cancelling. */
export interface FinishedView extends PageView {
  /** The client's own name: untrusted. */
  clientName: string
  /** The client's redirect URI with the authorization response; contains the code, so it appears in links only. */
  continueUrl: string
  /** Host or scheme that the browser goes to. */
  redirectHost: string
  /** The user cancelled: the client gets `access_denied`, and the page says that access was denied. */
  denied?: boolean
}

/**
 * Renders the way back to a client with a private-use scheme, which a plain redirect does not reach: at once by meta refresh, and
 * by a button for browsers that ask for a click first. Does not check `continueUrl`, a redirect URI that registration accepted and
 * the request matched.
 */
export function finishedPage(view: FinishedView): string {
  const { clientName, redirectHost, continueUrl, denied = false, language } = view
  const texts = language.texts.finished
  return layout(view, {
    title: denied ? texts.denied : texts.signedInTitle,
    bridge: denied ? 'raised' : 'lowered',
    head: html`<meta http-equiv="refresh" content="0; url=${continueUrl}" />`,
    gate: html`<h1>${denied ? texts.denied : texts.signedIn}</h1>
      <p class="ask">${fillHtml(texts.takingBack, { host: hostName(redirectHost) })}</p>`,
    main: html`<div class="court-inner">
      <p>
        <a class="button primary" href="${continueUrl}"
          >${fillHtml(texts.returnTo, { name: quotedName(clientName, language) })}</a
        >
      </p>
      <p class="quiet">${texts.ifNothingOpens}</p>
    </div>`,
  })
}

/** Contents of a page that only reports a result. Every text is escaped. */
export interface MessageView extends PageView {
  title: string
  bridge: BridgePosition
  message: string
  nextStep: string
  link?: { url: string; label: string }
}

/** Renders a result without a failure: what happened, then what to do. */
export function messagePage(view: MessageView): string {
  return layout(view, {
    title: view.title,
    bridge: view.bridge,
    gate: html`<h1>${view.title}</h1>
      <p class="ask">${view.message}</p>`,
    main: html`<div class="court-inner">
      <p>${view.nextStep}</p>
      ${view.link && html`<p><a class="link alone" href="${view.link.url}">${view.link.label}</a></p>`}
    </div>`,
  })
}
