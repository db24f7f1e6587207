import { readClaims } from './claims.ts'
import type { ConnectionTest } from '../endpoint/endpoint-test.ts'
import type { CopyFormat } from './formats.ts'
import { maskToken } from '../display-text.ts'
import type { ReadyView } from './popup-view.ts'
import type { FoundSession } from '../session/session-reader.ts'
import { hostOf } from '../site.ts'
import { type Look, announcedIn } from '../session/tab-look.ts'

/** What has been done with one usable token. */
export interface ReadyState {
  readonly token: string
  copied?: CopyFormat | undefined
  copyFailed?: boolean
  isRevealed?: boolean
  test: ConnectionTest
}

/** Returns the screen of a usable token. Only `revealed` contains the token. */
export function readyView(state: ReadyState, look: Look, { view: session }: FoundSession): ReadyView {
  const { tab, profile, reading } = look
  const host = hostOf(tab.url)
  const { token, copied, copyFailed = false, isRevealed, test } = state
  return {
    kind: 'ready',
    host,
    session,
    hasOthers: reading.kind === 'sessions' && reading.sessions.length > 1,
    masked: maskToken(token),
    revealed: isRevealed ? token : undefined,
    claims: readClaims(token),
    profile: { label: profile?.label ?? host, server: profile?.baseUrl && `${profile.baseUrl}/mcp` },
    announced: announcementOf(announcedIn(look), host),
    copied,
    copyFailed,
    test,
  }
}

/** Ports may differ: programs on the same host share cookies, so they trust each other anyway. */
function announcementOf(baseUrl: string | undefined, appHost: string): ReadyView['announced'] {
  if (baseUrl === undefined) return undefined
  const isOtherHost = new URL(baseUrl).hostname !== appHost.replace(/:\d+$/, '')
  return { server: `${baseUrl}/mcp`, isOtherHost }
}
