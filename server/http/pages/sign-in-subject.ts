import { html } from '@drawbridge/shared/html.ts'
import type { SafeHtml } from '@drawbridge/shared/html.ts'
import type { AppView } from './app-view.ts'
import { aboutClient } from './client-facts.ts'
import { deviceSummary, type DeviceView } from './device-summary.ts'
import { requestSummary, type RequestView } from './request-summary.ts'

/** What a sign-in is for: a client that sent the browser here, a device whose code was typed, or one's own connections. */
export type SubjectView = RequestView | DeviceView | { kind: 'account' }

/** The words in which the pages of a sign-in differ by what it is for. Every button that allows says so. */
export interface SubjectWords {
  /** Title of the page that takes the password, and of the one that takes the code. */
  signInTitle: string
  codeTitle: string
  signIn: string
  continueWith: (label: string) => string
  confirm: string
  /** Undefined: there is nobody to refuse, and leaving the page does no less. */
  cancel: string | undefined
}

/** The {@link SubjectWords} of a subject. */
export function subjectWords(subject: SubjectView): SubjectWords {
  if (subject.kind === 'account') {
    return {
      signInTitle: 'Sign in to see your connections',
      codeTitle: 'Enter your code to see your connections',
      signIn: 'Sign in',
      continueWith: (label) => `Continue with ${label}`,
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
    confirm: 'Confirm and allow',
    cancel: 'Cancel, allow nothing',
  }
}

/** What stands on the gate side of every page of a sign-in: what it is for. */
export function subjectSummary(subject: SubjectView, app: AppView): SafeHtml {
  switch (subject.kind) {
    case 'authorization':
      return requestSummary(subject, app)
    case 'device':
      return deviceSummary(subject, app)
    case 'account':
      return html`<h1>Sign in to see and end connections</h1>
        <p class="ask">
          Every app that may use your account at <bdi>${app.appName}</bdi> is listed behind this page. Signing
          in here allows nothing to anybody.
        </p>`
  }
}

/** A link to the page of the client that asks, where one can be given. */
export function aboutSubject(subject: SubjectView): SafeHtml | false {
  return subject.kind !== 'account' && aboutClient(subject.client)
}
