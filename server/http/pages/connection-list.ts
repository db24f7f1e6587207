import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Grant } from '../../core/session/grant.ts'
import type { Language } from '../../texts/language.ts'
import type { ClientView } from './client-facts.ts'
import { fact, type PageView } from './layout.ts'
import { hostName, quotedName } from './names.ts'

/** The client of a grant, and what its scope allows as sentences. */
export interface ListedGrant<Shown extends keyof Grant> {
  grant: Pick<Grant, 'id' | 'createdAt' | Shown>
  client: ClientView
  permissions: readonly string[]
}

/** The form target, and the value that ties forms to the sign-in and the browser. */
export interface ConnectionForm extends PageView {
  action: string
  form: string
}

/**
 * Renders the client of one entry and the form that ends the connection, in two steps without a script: the button is hidden until
 * requested. Its name leaves room for that button, which is outside of the heading, by a hidden one as wide. `headingId` is unique on the page.
 */
export function connectionHead(
  { grant, client }: ListedGrant<never>,
  headingId: string,
  form: ConnectionForm,
): SafeHtml {
  const texts = form.language.texts.connections
  return html`<div class="connection-head">
      <span class="button end" aria-hidden="true">${texts.end}</span>
      <h3 id="${headingId}">
        ${client.verifiedHost === undefined ? '' : html`${hostName(client.verifiedHost)} `}<span
          class="${client.verifiedHost === undefined ? 'own-name' : 'own-name quiet'}"
          >${quotedName(client.name, form.language)}</span
        >
      </h3>
    </div>
    <details class="end-one">
      <summary class="button end" aria-describedby="${headingId}">${texts.end}</summary>
      <form method="post" action="${form.action}" class="stack">
        ${formInput(form)} <input type="hidden" name="connection" value="${grant.id}" />
        <p>${texts.endNote}</p>
        <button class="button danger" name="action" value="end" aria-describedby="${headingId}">
          ${texts.endThis}
        </button>
      </form>
    </details>`
}

/** Renders a client's own name, with its verified host. */
export function clientName({ name, verifiedHost: host }: ClientView, language: Language): SafeHtml {
  return html`${quotedName(name, language)}${host !== undefined && html` (${hostName(host)})`}`
}

/** Renders what a connection may do; nothing if no text describes it. */
export function permissionDetail(permissions: readonly string[], { texts }: Language): SafeHtml | false {
  if (permissions.length === 0) return false
  return fact(texts.connections.allowedTo, permissions, true)
}

export function formInput({ form }: Pick<ConnectionForm, 'form'>): SafeHtml {
  return html`<input type="hidden" name="form" value="${form}" />`
}

/** An approval that the app or device has not redeemed yet. */
export interface WaitingConnectionView extends ListedGrant<never> {
  isDevice: boolean
}

/** Renders the approvals that are not connected yet; undefined without any. */
export function waitingList(
  waiting: readonly WaitingConnectionView[],
  view: ConnectionForm & { now: number },
): SafeHtml | undefined {
  if (waiting.length === 0) return undefined
  const texts = view.language.texts.connections
  return html`<h2>${texts.waiting}</h2>
    <p class="quiet">${texts.waitingNote}</p>
    <ul class="connections">
      ${waiting.map((each, index) => waitingItem(each, `waiting-${index}`, view))}
    </ul>`
}

function waitingItem(
  waiting: WaitingConnectionView,
  headingId: string,
  view: ConnectionForm & { now: number },
): SafeHtml {
  const { isDevice, grant, permissions } = waiting
  const texts = view.language.texts.connections
  return html`<li class="connection">
    ${connectionHead(waiting, headingId, view)}
    <dl class="details">
      ${permissionDetail(permissions, view.language)}
      ${fact(texts.kind, isDevice ? texts.waitingDevice : texts.waitingApp)}
      ${fact(texts.allowed, timeAgo(grant.createdAt, view.now, view.language))}
    </dl>
  </li>`
}

/** Renders roughly how long ago `at` was, both in epoch seconds. */
export function timeAgo(at: number, now: number, language: Language): SafeHtml {
  return html`<time datetime="${machineTime(at)}">${language.ago(at, now)}</time>`
}

export function dayTime(at: number, language: Language): SafeHtml {
  return html`<time datetime="${machineTime(at)}">${language.date(at)}</time>`
}

function machineTime(at: number): string {
  return new Date(at * 1000).toISOString()
}
