import {
  ProviderError,
  type ProviderFailure,
  type SignInStep,
} from '../../server/core/session/session-provider.ts'
import { createGotrueProvider } from '../../server/providers/supabase/supabase.ts'
import { systemRuntime } from '../../server/startup/system-runtime.ts'
import type { ContractServer } from './contract-server.ts'
import type { Answer, ContractFailure, ContractSession, ContractStep, Driver, SocialLeg } from './driver.ts'
import type { CaseFetch } from './wire.ts'

const shared: ReadonlySet<ProviderFailure> = new Set<ProviderFailure & ContractFailure>([
  'invalid_credentials',
  'email_unconfirmed',
  'captcha',
  'wrong_code',
  'unknown_domain',
  'rate_limited',
  'mail_limited',
  'expired',
  'terminal',
  'invalid_token',
  'transient',
])

/** Creates a driver for our own adapter. */
export function createAdapterDriver(server: ContractServer, send: CaseFetch): Driver {
  const provider = createGotrueProvider(
    {
      url: server.authUrl,
      apiKey: server.apiKey,
      issuer: server.token?.issuer ?? server.authUrl,
      audience: server.token?.audience ?? 'authenticated',
      hs256Secret: server.jwtSecret,
      social: undefined,
      captcha: undefined,
      password: true,
      email: 'both',
      secondFactor: 'if-enrolled',
    },
    { ...systemRuntime, fetch: send },
  )

  const legOf = ({ url, secret }: { url: string; secret: string }, callbackUrl: string): SocialLeg => ({
    url,
    finish: (params) =>
      answerOf(async () => stepOf(await provider.socialFinish({ params, secret, callbackUrl }))),
  })
  return {
    judgesClaims: true,
    signIn: (account, captchaToken) =>
      answerOf(async () => stepOf(await provider.passwordSignIn({ ...account, captchaToken }))),
    socialStart: async (method, callbackUrl) =>
      legOf(await provider.socialStart({ method, callbackUrl }), callbackUrl),
    ssoStart: (domain, callbackUrl) =>
      answerOf(async () => {
        const started = await provider.ssoStart({ domain, callbackUrl, captchaToken: undefined })
        return legOf(started, callbackUrl)
      }),
    mailStart: (email, callbackUrl) =>
      answerOf(async () => {
        const { secret } = await provider.emailStart({ email, callbackUrl, captchaToken: undefined })
        return legOf({ url: '', secret }, callbackUrl)
      }),
    mailVerify: (email, code) => answerOf(async () => stepOf(await provider.emailVerify({ email, code }))),
    refresh: (session) => answerOf(async () => known(await provider.refresh(ours(session)))),
    signOut: (session) => answerOf(() => provider.signOut(ours(session))),
    verifySecondFactor: (session, factorId, code) =>
      answerOf(async () =>
        known((await provider.verifySecondFactor({ session: ours(session), factorId, code })).session),
      ),
    life: (accessToken) => answerOf(async () => (await provider.probe({ accessToken })).life),
    verify: (accessToken) => answerOf(() => provider.verify(accessToken)),
  }
}

function stepOf(step: SignInStep): ContractStep {
  return step.kind === 'signed_in'
    ? { kind: 'signed_in', session: known(step.signIn.session) }
    : { ...step, session: known(step.session) }
}

function known({ accessToken, refreshToken }: Omit<ContractSession, 'device'>): ContractSession {
  return { accessToken, refreshToken, device: undefined }
}

function ours({ accessToken, refreshToken }: ContractSession) {
  return { accessToken, refreshToken, expiresAt: 0 }
}

async function answerOf<Value>(work: () => Promise<Value>): Promise<Answer<Value>> {
  try {
    return { ok: true, value: await work() }
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    const { failure, message } = error
    return {
      ok: false,
      failure: shared.has(failure) ? (failure as ContractFailure) : 'other',
      detail: message,
    }
  }
}
