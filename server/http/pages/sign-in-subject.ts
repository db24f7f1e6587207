import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { AppView } from './layout.ts'
import { aboutClient, type ClientView, hostFact, nameFact } from './client-facts.ts'
import { alertGlyph } from './drawings.ts'
import { hostName } from './names.ts'

/** The purpose of a sign-in: a client that sent the browser here, a device whose code was typed, or one's own connections. */
export type SubjectView = RequestView | DeviceView | { kind: 'account' }

/** What every page of a sign-in has: its purpose, and the form target. Every text is escaped. */
export interface SignInView extends AppView {
  subject: SubjectView
  /** Absolute path that the forms post to. */
  action: string
  /** Opaque sealed state of the sign-in; sent in a hidden input. */
  transaction: string
  /** Why the last attempt failed, as a sentence. */
  error?: string
}

/** Renders the hidden input of every form of a sign-in. */
export function transactionInput({ transaction }: SignInView): SafeHtml {
  return html`<input type="hidden" name="transaction" value="${transaction}" />`
}

/** Renders the form that ends a sign-in without access. */
export function cancelForm(view: SignInView, label: string): SafeHtml {
  return html`<form method="post" action="${view.action}" class="cancel">
    ${transactionInput(view)}
    <button class="button plain" name="action" value="deny" formnovalidate>${label}</button>
  </form>`
}

/** The words that differ between the purposes of a sign-in. Every button that allows access says so. */
export interface SubjectWords {
  /** Titles of the password page and of the code page. */
  signInTitle: string
  codeTitle: string
  signIn: string
  continueWith: (label: string) => string
  sso: string
  confirm: string
  /** Undefined without a client to refuse: leaving the page has the same effect. */
  cancel: string | undefined
}

export function subjectWords(subject: SubjectView): SubjectWords {
  if (subject.kind === 'account') {
    return {
      signInTitle: 'Sign in to manage your connections',
      codeTitle: 'Enter your code to manage your connections',
      signIn: 'Sign in',
      continueWith: (label) => `Continue with ${label}`,
      sso: 'Use single sign\u2011on',
      confirm: 'Confirm',
      cancel: undefined,
    }
  }
  const asker = subject.kind === 'device' ? 'a device' : (subject.client.verifiedHost ?? subject.redirectHost)
  return {
    signInTitle: `Sign in to allow access for ${asker}`,
    codeTitle: `Enter your code to allow access for ${asker}`,
    signIn: 'Sign in and allow',
    continueWith: (label) => `Continue with ${label} and allow`,
    sso: 'Use single sign\u2011on and allow',
    confirm: 'Confirm and allow',
    cancel: 'Cancel and deny access',
  }
}

/** Renders the gate side of every page of a sign-in: its purpose. */
export function subjectSummary(subject: SubjectView, app: AppView): SafeHtml {
  switch (subject.kind) {
    case 'authorization':
      return requestSummary(subject, app)
    case 'device':
      return deviceSummary(subject, app)
    case 'account':
      return html`<h1>Sign in to manage your connections</h1>
        <p class="ask">
          See and end the connections of every app that can use your account at <bdi>${app.appName}</bdi>.
          Signing in here does not give any app access.
        </p>
        <p class="ask">
          For safety this page asks you to sign in again, even if you are signed in at
          <bdi>${app.appName}</bdi>, and signs you out after an hour.
        </p>`
  }
}

/** Renders a link to the requesting client's page, if it has one. */
export function aboutSubject(subject: SubjectView): SafeHtml | false {
  return subject.kind !== 'account' && aboutClient(subject.client)
}

/** The client requesting access, its return address, and what it requests. */
export interface RequestView {
  kind: 'authorization'
  client: ClientView
  /** Host (or scheme) that the browser returns to; an international host in its ASCII form. */
  redirectHost: string
  /** The redirect URI is loopback: any program on the computer could be asking. */
  returnsToThisComputer: boolean
  /** What signing in allows, as plain sentences. */
  permissions: readonly string[]
}

/**
 * Renders an authorization request for the user who decides: proven facts large, in the order verified host, return address; then
 * the client's own name, small and quoted; then what signing in allows.
 */
function requestSummary(view: RequestView, { appName }: AppView): SafeHtml {
  return html`<h1>Sign in to allow access</h1>
    <p class="ask">An app wants to use your account at <bdi>${appName}</bdi>.</p>
    <dl class="facts">
      ${hostFact(view.client)}
      <div>
        <dt>Returns to</dt>
        <dd>
          ${hostName(view.redirectHost)}${view.returnsToThisComputer ? html` <span class="note">on this computer</span>` : ''}
        </dd>
      </div>
      ${nameFact(view.client)}
    </dl>
    ${
      view.returnsToThisComputer
        ? html`<p class="warning">
            ${alertGlyph} <span>A program on this computer is asking. Continue only if you started it.</span>
          </p>`
        : ''
    }
    ${permissionList(view.permissions)}`
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
  /** What signing in allows, as plain sentences. */
  permissions: readonly string[]
}

/**
 * Renders a device for the user who decides (RFC 8628 section 3.3). Only that user sees the device, so what they can compare comes
 * first, and the warning against remote phishing (section 5.4) comes before what is allowed.
 */
function deviceSummary(view: DeviceView, { appName }: AppView): SafeHtml {
  return html`<h1>Sign in to allow access for a device</h1>
    <p class="ask">
      ${view.isLocal ? 'A program on this computer' : 'A device or program elsewhere'} wants to use your
      account at <bdi>${appName}</bdi>.
    </p>
    <dl class="facts">
      <div>
        <dt>Code on the device</dt>
        <dd><span class="host">${view.userCode}</span></dd>
      </div>
      <div>
        <dt>Requested from</dt>
        <dd>
          <span class="address"
            >${view.isLocal ? 'This computer' : (view.address ?? 'An unknown address')}</span
          >
          <span class="note">${view.asked}</span>
        </dd>
      </div>
      ${hostFact(view.client)} ${nameFact(view.client)}
    </dl>
    <p class="warning">
      ${alertGlyph}
      <span
        >Continue only if you started this yourself, on a device in front of you that shows this code. If
        somebody sent you the code or the link, cancel: they would get access to your account.</span
      >
    </p>
    ${permissionList(view.permissions)}`
}

/** Renders what signing in allows, one sentence each; nothing if the list is empty. */
function permissionList(permissions: readonly string[]): SafeHtml | false {
  if (permissions.length === 0) return false
  return html`<h2 class="allows">What signing in allows</h2>
    <ul class="permissions">
      ${permissions.map((sentence) => html`<li>${sentence}</li>`)}
    </ul>`
}
