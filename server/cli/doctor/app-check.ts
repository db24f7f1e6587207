import { randomUUID } from 'node:crypto'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type Checks, fail, note, ok, warn } from '@drawbridge/shared/terminal/check.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { ProviderError } from '../../core/session/session-provider.ts'
import { openProvider } from '../../startup/open-provider.ts'
import type { ProbeResult } from './probe.ts'

/** Checks the page of the web app where people allow a client, as a browser gets it that is not signed in, whatever the provider is. */
export const signInPageChecks: Checks<{ url: string; answer: ProbeResult }> = {
  'sign-in-page'({ url, answer }) {
    const fix = 'Check DRAWBRIDGE_SIGN_IN_URL, and that the page is deployed.'
    if (answer.kind === 'unreachable') return fail(`${url} cannot be reached: ${answer.reason}.`, fix)
    const { status } = answer
    if (status === 404 || status >= 500) return fail(`${url} answers ${status}: no one can sign in.`, fix)
    return ok(`${url} answers.`)
  },
  framing({ url, answer }) {
    if (answer.kind === 'unreachable') return undefined
    const policy = answer.headers.get('content-security-policy') ?? ''
    const [, ancestors = '*'] = /\bframe-ancestors\s+([^;,]*)/i.exec(policy) ?? []
    const isGuarded = !/(?:^|\s)(?:\*|https?:)(?:\s|$)/i.test(ancestors)
    if (isGuarded || /^(?:deny|sameorigin)$/i.test(answer.headers.get('x-frame-options') ?? ''))
      return ok(`Other sites cannot frame ${url}.`)
    const fix = "Send Content-Security-Policy: frame-ancestors 'none' with this page."
    // The page of someone who is signed in may have other headers.
    if (answer.status >= 300)
      return note(`Only someone who is signed in sees whether ${url} can be framed.`, fix)
    return warn(`Other sites can show ${url} in a frame, and lead people to click on it unseen.`, fix)
  },
}

/** What SESSION_URL says about a user that cannot exist, to a request of this server and to one signed with another secret. */
type AppFacts = Pick<ServerConfig, 'sessionUrl'> & Record<'signed' | 'forged', string | undefined>

/** Asks SESSION_URL about a user that cannot exist. */
export async function probeApp(config: ServerConfig, runtime: Runtime): Promise<AppFacts> {
  const session = { accessToken: '', userinfo: { sub: `drawbridge-doctor-${randomUUID()}` } }
  const ask = async (signInSecret = config.signInSecret): Promise<string | undefined> => {
    try {
      return (await openProvider({ ...config, signInSecret }, runtime).probe?.(session))?.life
    } catch (error) {
      if (error instanceof ProviderError) return error.message
      throw error
    }
  }
  return { sessionUrl: config.sessionUrl, signed: await ask(), forged: await ask(randomUUID()) }
}

const lives: ReadonlySet<string> = new Set(['live', 'token_refused', 'ended'])

/** Checks what the server asks of the web app with PROVIDER=app. */
export const appChecks: Checks<AppFacts> = {
  'session-url'({ sessionUrl, signed, forged }) {
    if (sessionUrl === undefined)
      return note(
        'Without DRAWBRIDGE_SESSION_URL a connection outlives its account, unless the app ends it.',
        'Set it, or call POST BASE_URL/oauth/app/end when an account is closed (docs/app-sign-in.md).',
      )
    if (signed === undefined || !lives.has(signed))
      return fail(
        `${sessionUrl} does not say whether a user may stay connected. ${signed}`,
        'Answer 200 or 404 to requests signed with DRAWBRIDGE_SIGN_IN_SECRET (docs/app-sign-in.md).',
      )
    if (forged !== signed) return ok(`${sessionUrl} answers this server.`)
    return warn(
      `${sessionUrl} answers a request that is signed with another secret the same way: it does not check who asks, or nothing is there, and 404 ends connections.`,
      'Answer 401 to a JWT that does not verify (docs/app-sign-in.md).',
    )
  },
}
