import type { ConnectionTest } from '../endpoint/endpoint-test.ts'
import type { CopyFormat } from './formats.ts'
import type { SessionView } from '../session/session-reader.ts'
import type { LinkedClient } from '@drawbridge/shared/clients/install-link.ts'
import type { InvalidSessionReason } from '@drawbridge/shared/session-cookie/session-cookie.ts'

/** A claim as text. Times have `at` too, in epoch seconds. */
export interface ClaimView {
  name: string
  value: string
  at?: number
}

/** Every screen of the popup. Each shows one sentence and one main action, some a second action. */
export type PopupView =
  | { kind: 'loading' }
  /** A page of the browser, a file or a store: unreadable. */
  | { kind: 'no-web-page'; appUrl: string | undefined }
  /** Nothing is visible to the page's own scripts: signed out, or the cookie needs a permission. */
  | { kind: 'no-permission'; host: string; incognito: boolean }
  /** `further`: a parent host whose hidden cookies may hold the session; `allow` then asks for it. */
  | { kind: 'signed-out'; host: string; appUrl: string | undefined; further?: string | undefined }
  | { kind: 'incomplete'; host: string; project: string }
  | { kind: 'corrupt'; host: string; project: string; reason: InvalidSessionReason }
  | { kind: 'expired'; host: string; session: SessionView; waiting: boolean }
  | { kind: 'several'; host: string; sessions: readonly SessionView[] }
  | ReadyView

/** Screen of a usable session. */
export interface ReadyView {
  kind: 'ready'
  host: string
  session: SessionView
  /** There are other sessions to choose from. */
  hasOthers: boolean
  /** `eyJhbG…x9Kf` */
  masked: string
  /** The whole token while it is revealed. */
  revealed: string | undefined
  claims: readonly ClaimView[]
  profile: { label: string; server: string | undefined }
  /**
   * The MCP server that the page announces, while none is set. Nothing is sent there or built from it before
   * `use-server`.
   */
  announced: { server: string; isOtherHost: boolean } | undefined
  copied: CopyFormat | undefined
  copyFailed: boolean
  test: ConnectionTest
}

/** The user's actions in the popup. */
export type PopupAction =
  | { kind: 'allow' | 'read-again' | 'reload' | 'show-all' | 'reveal' | 'hide' }
  | { kind: 'use-server' | 'test' | 'allow-test' | 'open-app' | 'settings' }
  | { kind: 'choose'; sessionId: string }
  | { kind: 'copy'; format: CopyFormat }
  | { kind: 'open-client'; client: LinkedClient }
