import type { ConnectionTest } from '../endpoint/connection-test.ts'
import type { SessionView } from '../session/session-view.ts'
import type { LinkedClient } from '@drawbridge/shared/clients/install-link.ts'
import type { InvalidSessionReason } from '@drawbridge/shared/session-cookie/session-cookie.ts'

/** A claim as text. Times come with `at` too, in epoch seconds. */
export interface ClaimView {
  name: string
  value: string
  at?: number
}

/** What can be copied of a ready session. Those with `needsServer` are offered when the profile names a server. */
export type CopyFormat =
  | 'token'
  | 'header'
  | 'curl'
  | 'environment'
  | 'bridge'
  | 'config-claude-code'
  | 'config-claude-desktop'
  | 'config-cursor'
  | 'config-vscode'
  | 'config-codex'
  | 'test-claude-code'
  | 'test-cursor'
  | 'test-vscode'

/** Every screen of the popup. Each shows one sentence and offers one main action, and some a second. */
export type PopupView =
  | { kind: 'loading' }
  /** A page of the browser, a file, a store: nothing can be read there. */
  | { kind: 'no-web-page'; appUrl: string | undefined }
  /** Nothing that the page's own scripts see: signed out, or in a cookie that was not allowed to be read. */
  | { kind: 'no-permission'; host: string; incognito: boolean }
  /** `further`: a host above whose cookies were not shown, and may hold it; then `allow` asks for that. */
  | { kind: 'signed-out'; host: string; appUrl: string | undefined; further?: string | undefined }
  | { kind: 'incomplete'; host: string; project: string }
  | { kind: 'corrupt'; host: string; project: string; reason: InvalidSessionReason }
  | { kind: 'expired'; host: string; session: SessionView; waiting: boolean }
  | { kind: 'several'; host: string; sessions: readonly SessionView[] }
  | ReadyView

/** The screen of a session that can be used. */
export interface ReadyView {
  kind: 'ready'
  host: string
  session: SessionView
  /** Whether there are others to choose from. */
  hasOthers: boolean
  /** `eyJhbG…x9Kf` */
  masked: string
  /** The whole token while it is revealed. */
  revealed: string | undefined
  claims: readonly ClaimView[]
  profile: { label: string; server: string | undefined }
  /** The MCP server that the page names, while none is set. Nothing is sent there or made with it before `use-server`. */
  announced: { server: string; isOtherHost: boolean } | undefined
  formats: readonly CopyFormat[]
  /** Clients that a link opens to add the server; none without one. */
  clients: readonly { id: LinkedClient; name: string }[]
  copied: CopyFormat | undefined
  copyFailed: boolean
  test: ConnectionTest
  /** Under five minutes are left. */
  endsSoon: boolean
}

/** What a person can do in the popup. */
export type PopupAction =
  | { kind: 'allow' }
  | { kind: 'reload' }
  | { kind: 'read-again' }
  | { kind: 'choose'; sessionId: string }
  | { kind: 'show-all' }
  | { kind: 'copy'; format: CopyFormat }
  | { kind: 'reveal' }
  | { kind: 'hide' }
  | { kind: 'open-client'; client: LinkedClient }
  | { kind: 'use-server' }
  | { kind: 'test' }
  | { kind: 'allow-test' }
  | { kind: 'open-app' }
  | { kind: 'settings' }
