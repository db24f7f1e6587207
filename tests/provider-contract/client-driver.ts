import { AuthClient, type AuthError, type GoTrueClient, type Session } from '@supabase/auth-js'
import type { ContractServer } from './contract-server.ts'
import type { Answer, ContractFailure, ContractSession, ContractStep, Driver, SocialLeg } from './driver.ts'
import type { CaseFetch } from './wire.ts'

// Based on the vendor's list of error codes rather than on our adapter, which is compared with it.
const failures: ReadonlyMap<string, ContractFailure> = new Map<string, ContractFailure>([
  ['invalid_credentials', 'invalid_credentials'],
  ['email_not_confirmed', 'email_unconfirmed'],
  ['captcha_failed', 'captcha'],
  ['mfa_verification_failed', 'wrong_code'],
  ['sso_provider_not_found', 'unknown_domain'],
  ['otp_expired', 'wrong_code'],
  ['otp_disabled', 'invalid_credentials'],
  ['over_email_send_rate_limit', 'mail_limited'],
  ['over_request_rate_limit', 'rate_limited'],
  ['bad_code_verifier', 'expired'],
  ['flow_state_not_found', 'expired'],
  ['flow_state_expired', 'expired'],
  ['pkce_code_verifier_not_found', 'expired'],
  ['refresh_token_not_found', 'terminal'],
  ['refresh_token_already_used', 'terminal'],
  ['session_not_found', 'terminal'],
  ['session_expired', 'terminal'],
  ['user_not_found', 'terminal'],
  ['user_banned', 'terminal'],
  ['bad_jwt', 'invalid_token'],
  ['conflict', 'transient'],
])

/** The client's names for failures without a code. */
const failuresByName: ReadonlyMap<string, ContractFailure> = new Map<string, ContractFailure>([
  ['AuthSessionMissingError', 'terminal'],
  ['AuthPKCECodeVerifierMissingError', 'expired'],
  ['AuthInvalidJwtError', 'invalid_token'],
  ['AuthRetryableFetchError', 'transient'],
])

/** Creates a driver for the vendor's client of the auth API alone. */
export const createAuthJsDriver = ({ authUrl, apiKey }: ContractServer, send: CaseFetch): Driver =>
  createClientDriver(
    () =>
      new AuthClient({
        url: authUrl,
        headers: { apikey: apiKey },
        fetch: send,
        flowType: 'pkce',
        persistSession: false,
        autoRefreshToken: false,
      }),
  )

/** Creates a driver for one of the vendor's clients, unmodified. `open` creates one with separate memory: a device. */
export function createClientDriver(open: () => GoTrueClient): Driver {
  return {
    // They check signature and expiry only.
    judgesClaims: false,

    async signIn({ email, password }, captchaToken) {
      const device = open()
      const options = captchaToken === undefined ? {} : { captchaToken }
      const { data, error } = await device.signInWithPassword({ email, password, options })
      // A form must not distinguish a ban from a wrong password.
      if (error?.code === 'user_banned') return refusal(error, 'invalid_credentials')
      return error ? refusal(error) : stepOf(device, data.session)
    },

    async socialStart(method, callbackUrl) {
      const device = open()
      const { data, error } = await device.signInWithOAuth({
        provider: method as 'google',
        options: {
          redirectTo: callbackUrl,
          skipBrowserRedirect: true,
          ...(method === 'keycloak' && { scopes: 'openid' }),
        },
      })
      if (error) throw error
      return legOf(device, data.url ?? '')
    },

    async ssoStart(domain, callbackUrl) {
      const device = open()
      const options = { redirectTo: callbackUrl, skipBrowserRedirect: true }
      const { data, error } = await device.signInWithSSO({ domain, options })
      return error ? refusal(error) : { ok: true, value: legOf(device, data.url) }
    },

    async mailStart(email, callbackUrl) {
      const device = open()
      const options = { shouldCreateUser: false, emailRedirectTo: callbackUrl }
      const { error } = await device.signInWithOtp({ email, options })
      return error ? refusal(error) : { ok: true, value: legOf(device, '') }
    },

    async mailVerify(email, token) {
      const device = open()
      const { data, error } = await device.verifyOtp({ email, token, type: 'email' })
      return error ? refusal(error) : stepOf(device, data.session)
    },

    async refresh({ refreshToken }) {
      const device = open()
      const { data, error } = await device.refreshSession({ refresh_token: refreshToken })
      // The client forgets its session at this response, too.
      if (error) return refusal(error, error.code === 'validation_failed' ? 'terminal' : undefined)
      return data.session
        ? { ok: true, value: sessionOf(device, data.session) }
        : { ok: false, failure: 'other', detail: 'no session' }
    },

    async signOut({ device }) {
      const { error } = await (device as GoTrueClient).signOut({ scope: 'local' })
      return error ? refusal(error) : { ok: true, value: undefined }
    },

    async verifySecondFactor({ device }, factorId, code) {
      const { data, error } = await (device as GoTrueClient).mfa.challengeAndVerify({ factorId, code })
      if (error) return refusal(error)
      const { access_token: accessToken, refresh_token: refreshToken } = data
      return { ok: true, value: { accessToken, refreshToken, device } }
    },

    async life(accessToken) {
      const { data, error } = await open().getUser(accessToken)
      if (!error) {
        // Older releases report the ban in a successful response.
        const bannedUntil = (data.user as { banned_until?: string }).banned_until ?? ''
        return { ok: true, value: Date.parse(bannedUntil) > Date.now() ? 'ended' : 'live' }
      }
      const answer = refusal(error)
      if (answer.failure === 'terminal') return { ok: true, value: 'ended' }
      return answer.failure === 'invalid_token' ? { ok: true, value: 'token_refused' } : answer
    },

    async verify(accessToken) {
      const { data, error } = await open().getClaims(accessToken)
      if (error) return refusal(error)
      return data
        ? { ok: true, value: { sub: data.claims.sub } }
        : { ok: false, failure: 'other', detail: 'no claims' }
    },
  }
}

function legOf(device: GoTrueClient, url: string): SocialLeg {
  return {
    url,
    async finish(params) {
      const exchanged = await device.exchangeCodeForSession(params.get('code') ?? '')
      return exchanged.error ? refusal(exchanged.error) : stepOf(device, exchanged.data.session)
    },
  }
}

async function stepOf(device: GoTrueClient, session: Session | null): Promise<Answer<ContractStep>> {
  if (!session) return { ok: false, failure: 'other', detail: 'no session' }
  const known = sessionOf(device, session)
  const level = await device.mfa.getAuthenticatorAssuranceLevel()
  if (level.error) return refusal(level.error)
  if (level.data.currentLevel === level.data.nextLevel) {
    return { ok: true, value: { kind: 'signed_in', session: known } }
  }
  const listed = await device.mfa.listFactors()
  if (listed.error) return refusal(listed.error)
  const factors = listed.data.totp.map(({ id, friendly_name: name }) => ({ id, label: name ?? '' }))
  return { ok: true, value: { kind: 'second_factor', session: known, factors } }
}

function sessionOf(device: GoTrueClient, session: Session): ContractSession {
  return { accessToken: session.access_token, refreshToken: session.refresh_token, device }
}

function refusal(error: AuthError, known?: ContractFailure): Answer<never> & { ok: false } {
  const { code, name, status } = error
  return {
    ok: false,
    failure: known ?? failures.get(code ?? '') ?? failuresByName.get(name) ?? 'other',
    detail: `${name} ${status ?? ''} ${code ?? ''}`,
  }
}
