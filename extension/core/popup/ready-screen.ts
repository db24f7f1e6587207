import { type LinkedClient, linkedClients } from '@drawbridge/shared/clients/install-link.ts'
import { readClaims } from './claims.ts'
import { type ConnectionTest, testEndpoint } from '../endpoint/endpoint-test.ts'
import { endsSoon } from '../session/expiry.ts'
import { formatText, offeredFormats } from './formats.ts'
import { maskToken } from '../display-text.ts'
import type { CopyFormat, ReadyView } from './popup-view.ts'
import type { SessionView } from '../session/session-reader.ts'
import type { Browser } from '../ports.ts'
import { hostOf } from '../site.ts'
import { type Look, announcedIn } from '../session/tab-look.ts'

/** Screen of one usable token. Only `revealed` contains the token. */
export interface ReadyScreen {
  readonly token: string
  view(look: Look, session: SessionView): ReadyView
  /** Copies immediately, while the click still counts as a user gesture. */
  copy(format: CopyFormat, baseUrl: string | undefined): Promise<void>
  /** Does nothing without a server. */
  test(baseUrl: string | undefined): Promise<void>
  reveal(value: boolean): void
}

const clients = (Object.keys(linkedClients) as LinkedClient[]).map((id) => ({
  id,
  name: linkedClients[id].name,
}))
const copiedMs = 2000
const revealedMs = 10_000

/** Creates the screen of a token. Calls `update` when its view has changed. */
export function createReadyScreen(browser: Browser, token: string, update: () => void): ReadyScreen {
  let copied: CopyFormat | undefined
  let copyFailed = false
  let revealed = false
  let test: ConnectionTest = { kind: 'none' }
  let forgetCopied = (): void => {}
  let stopHiding = (): void => {}

  const reveal = (value: boolean): void => {
    stopHiding()
    if (value) stopHiding = browser.setTimer(() => reveal(false), revealedMs)
    revealed = value
    update()
  }

  return {
    token,
    view(look, session) {
      const { tab, profile, reading } = look
      const host = hostOf(tab.url)
      return {
        kind: 'ready',
        host,
        session,
        hasOthers: reading.kind === 'sessions' && reading.sessions.length > 1,
        masked: maskToken(token),
        revealed: revealed ? token : undefined,
        claims: readClaims(token),
        profile: { label: profile?.label ?? host, server: profile?.baseUrl && `${profile.baseUrl}/mcp` },
        announced: announcementOf(announcedIn(look), host),
        formats: offeredFormats(profile?.baseUrl),
        clients: profile?.baseUrl === undefined ? [] : clients,
        copied,
        copyFailed,
        test,
        endsSoon: endsSoon(session.expiresAt, browser.now()),
      }
    },
    async copy(format, baseUrl) {
      forgetCopied()
      try {
        await browser.copy(formatText(format, { token, baseUrl }))
        copied = format
        copyFailed = false
        forgetCopied = browser.setTimer(() => {
          copied = undefined
          update()
        }, copiedMs)
      } catch {
        copied = undefined
        copyFailed = true
      }
      update()
    },
    async test(baseUrl) {
      if (!baseUrl) return
      test = { kind: 'running' }
      update()
      test = await testEndpoint(browser, baseUrl, token)
      update()
    },
    reveal,
  }
}

/** Ports may differ: programs on the same host share cookies, so they trust each other anyway. */
function announcementOf(baseUrl: string | undefined, appHost: string): ReadyView['announced'] {
  if (baseUrl === undefined) return undefined
  const isOtherHost = new URL(baseUrl).hostname !== appHost.replace(/:\d+$/, '')
  return { server: `${baseUrl}/mcp`, isOtherHost }
}
