import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Texts } from '../../texts/built-in.ts'
import type { Language } from '../../texts/language.ts'
import { fillHtml, fillText } from '../../texts/text.ts'
import type { FormView } from './form-page.ts'
import { type AppView, fact, gateList } from './layout.ts'
import { aboutClient, type ClientView, hostFact, nameFact } from './client-facts.ts'
import { alertGlyph } from './drawings.ts'
import { hostName, quotedName } from './names.ts'

/** The purpose of a sign-in: a client that sent the browser here, a device whose code was typed, or one's own connections. */
export type SubjectView = RequestView | DeviceView | AccountView

/** One's own connections; with `tokenName` to make a personal token. */
interface AccountView {
  kind: 'account'
  tokenName?: string | undefined
}

/** Contents common to the pages of a sign-in: its purpose and the form target. Every text is escaped. */
export interface SignInView extends AppView, FormView {
  subject: SubjectView
  /** Opaque sealed state of the sign-in; sent in a hidden input. */
  transaction: string
}

export function transactionInput({ transaction }: SignInView): SafeHtml {
  return html`<input type="hidden" name="transaction" value="${transaction}" />`
}

/** Renders the form that ends a sign-in without access. Without a client to refuse, leaving the first page has the same effect. */
export function cancelForm(view: SignInView): SafeHtml {
  const { cancel } = subjectWords(view)
  return html`<form method="post" action="${view.action}" class="cancel">
    ${transactionInput(view)}
    <button class="button plain" name="action" value="deny" formnovalidate>${cancel}</button>
  </form>`
}

/** Returns the words that differ between the purposes of a sign-in. Every button that allows access says so. */
export function subjectWords({ subject, language }: SignInView): SubjectWords {
  const { request, device, account } = language.texts.subject
  if (subject.kind === 'account')
    return subject.tokenName === undefined ? account : { ...account, ...language.texts.token.signIn }
  if (subject.kind === 'device') return { ...request, ...device }
  const asker = subject.client.verifiedHost ?? subject.redirectHost
  const title = fillText(request.title, { asker })
  return { ...request, title, codeTitle: fillText(request.codeTitle, { asker }) }
}

export type SubjectWords = Texts['subject']['account']

/** Renders the gate side of every page of a sign-in: its purpose. */
export function subjectSummary({ subject, appName, language }: SignInView): SafeHtml {
  const texts = language.texts.subject
  const app = html`<bdi>${appName}</bdi>`
  switch (subject.kind) {
    case 'authorization':
      return requestSummary(subject, app, language)
    case 'device':
      return deviceSummary(subject, app, language)
    case 'account':
      if (subject.tokenName !== undefined) return tokenSummary(subject.tokenName, app, language)
      return html`<h1>${texts.account.title}</h1>
        <p class="ask">${fillHtml(texts.accountAsk, { app })}</p>
        <p class="ask">${fillHtml(texts.accountSafety, { app })}</p>`
  }
}

function tokenSummary(name: string, app: SafeHtml, language: Language): SafeHtml {
  const { signIn, signInAsk } = language.texts.token
  return html`<h1>${signIn.title}</h1>
    <p class="ask">${fillHtml(signInAsk, { app, name: quotedName(name, language) })}</p>`
}

export function aboutSubject({ subject, language }: SignInView): SafeHtml | false {
  return subject.kind !== 'account' && aboutClient(subject.client, language)
}

/** The client requesting access, its return address, and what it requests. */
export interface RequestView {
  kind: 'authorization'
  client: ClientView
  /** Host (or scheme) that the browser returns to; an international host in its ASCII form. */
  redirectHost: string
  /** The redirect URI is loopback: any program on the computer could be asking. */
  returnsToThisComputer: boolean
  permissions: readonly string[]
}

/**
 * Renders an authorization request for the user who decides: proven facts large, in the order verified host, return address; then
 * the client's own name, small and quoted; then what signing in allows.
 */
function requestSummary(view: RequestView, app: SafeHtml, language: Language): SafeHtml {
  const texts = language.texts.subject
  return html`<h1>${texts.heading}</h1>
    <p class="ask">${fillHtml(texts.ask, { app })}</p>
    <dl class="facts">
      ${hostFact(view.client, language)}
      ${fact(texts.returnsTo, html`${hostName(view.redirectHost)}${view.returnsToThisComputer && html` <span class="note">${texts.onThisComputer}</span>`}`)}
      ${nameFact(view.client, language)}
    </dl>
    ${
      view.returnsToThisComputer &&
      html`<p class="warning">${alertGlyph} <span>${texts.loopbackWarning}</span></p>`
    }
    ${gateList(texts.allows, view.permissions)}`
}

/** A device waiting for approval, as shown to the user who typed its code. */
export interface DeviceView {
  kind: 'device'
  client: ClientView
  userCode: string
  /** IP address of the device's request; undefined if unknown. */
  address: string | undefined
  /** The request can only have come from the computer this server runs on. */
  isLocal: boolean
  /** When the device asked, in words: `2 minutes ago`. */
  asked: string
  permissions: readonly string[]
}

/**
 * Renders a device for the user who decides (RFC 8628 section 3.3). Only that user sees the device, so what they can compare comes
 * first, and the warning against remote phishing (section 5.4) comes before the permissions.
 */
function deviceSummary(view: DeviceView, app: SafeHtml, language: Language): SafeHtml {
  const texts = language.texts.subject
  const address = view.isLocal ? texts.thisComputer : (view.address ?? texts.unknownAddress)
  return html`<h1>${texts.device.title}</h1>
    <p class="ask">${fillHtml(view.isLocal ? texts.localAsk : texts.deviceAsk, { app })}</p>
    <dl class="facts">
      ${fact(texts.deviceCode, html`<span class="host">${view.userCode}</span>`)}
      ${fact(texts.requestedFrom, html`<span class="address">${address}</span> <span class="note">${view.asked}</span>`)}
      ${hostFact(view.client, language)} ${nameFact(view.client, language)}
    </dl>
    <p class="warning">
      ${alertGlyph}
      <span>${texts.deviceWarning}</span>
    </p>
    ${gateList(texts.allows, view.permissions)}`
}
