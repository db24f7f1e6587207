import { type LinkedClient, linkedClients } from '@drawbridge/shared/clients/install-link.ts'
import { readClaims } from './claims.ts'
import { type ConnectionTest, testEndpoint } from '../endpoint/endpoint-test.ts'
import { endsSoon } from '../session/expiry.ts'
import { type CopyFormat, formatText, offeredFormats } from './formats.ts'
import { maskToken } from '../display-text.ts'
import type { ReadyView } from './popup-view.ts'
import type { SessionView } from '../session/session-reader.ts'
import type { Browser } from '../ports.ts'
import { hostOf } from '../site.ts'
import { type Look, announcedIn } from '../session/tab-look.ts'

const clients = (Object.keys(linkedClients) as LinkedClient[]).map((id) => ({
  id,
  name: linkedClients[id].name,
}))
const copiedMs = 2000
const revealedMs = 10_000

/** Screen of one usable token. Only `revealed` contains the token. Calls `update` when its view has changed. */
export class ReadyScreen {
  readonly token: string
  readonly #browser: Browser
  readonly #update: () => void
  #copied: CopyFormat | undefined
  #copyFailed = false
  #isRevealed = false
  #test: ConnectionTest = { kind: 'none' }
  #forgetCopied = (): void => {}
  #stopHiding = (): void => {}

  constructor(browser: Browser, token: string, update: () => void) {
    this.#browser = browser
    this.token = token
    this.#update = update
  }

  view(look: Look, session: SessionView): ReadyView {
    const { tab, profile, reading } = look
    const host = hostOf(tab.url)
    return {
      kind: 'ready',
      host,
      session,
      hasOthers: reading.kind === 'sessions' && reading.sessions.length > 1,
      masked: maskToken(this.token),
      revealed: this.#isRevealed ? this.token : undefined,
      claims: readClaims(this.token),
      profile: { label: profile?.label ?? host, server: profile?.baseUrl && `${profile.baseUrl}/mcp` },
      announced: announcementOf(announcedIn(look), host),
      formats: offeredFormats(profile?.baseUrl),
      clients: profile?.baseUrl === undefined ? [] : clients,
      copied: this.#copied,
      copyFailed: this.#copyFailed,
      test: this.#test,
      endsSoon: endsSoon(session.expiresAt, this.#browser.now()),
    }
  }

  /** Copies immediately, while the click still counts as a user gesture. */
  async copy(format: CopyFormat, baseUrl: string | undefined): Promise<void> {
    this.#forgetCopied()
    try {
      await this.#browser.copy(formatText(format, { token: this.token, baseUrl }))
      this.#copied = format
      this.#copyFailed = false
      this.#forgetCopied = this.#browser.setTimer(() => {
        this.#copied = undefined
        this.#update()
      }, copiedMs)
    } catch {
      this.#copied = undefined
      this.#copyFailed = true
    }
    this.#update()
  }

  /** Does nothing without a server. */
  async test(baseUrl: string | undefined): Promise<void> {
    if (!baseUrl) return
    this.#test = { kind: 'running' }
    this.#update()
    this.#test = await testEndpoint(this.#browser, baseUrl, this.token)
    this.#update()
  }

  reveal(value: boolean): void {
    this.#stopHiding()
    if (value) this.#stopHiding = this.#browser.setTimer(() => this.reveal(false), revealedMs)
    this.#isRevealed = value
    this.#update()
  }
}

/** Ports may differ: programs on the same host share cookies, so they trust each other anyway. */
function announcementOf(baseUrl: string | undefined, appHost: string): ReadyView['announced'] {
  if (baseUrl === undefined) return undefined
  const isOtherHost = new URL(baseUrl).hostname !== appHost.replace(/:\d+$/, '')
  return { server: `${baseUrl}/mcp`, isOtherHost }
}
