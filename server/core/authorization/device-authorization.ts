import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import {
  type GrantRequest,
  addGrantCode,
  type AuthorizationCodePorts,
  redeemGrantCode,
} from './authorization-code.ts'
import type { IssuedTokens } from '../tokens/token-issue.ts'
import type { GrantStore } from '../session/grant.ts'
import type { Client } from '../clients/client.ts'
import type { DevicePoll, DeviceStore, PendingDevice } from './device-authorization-store.ts'
import { requireOurResource } from '../tokens/resource.ts'
import { requireScopeText } from '../tokens/scope.ts'
import { hashSecret } from '../seal.ts'
import type { SignIn } from '../session/session-provider.ts'
import { createUserCode, normaliseUserCode } from './user-code.ts'

const deviceCodePrefix = 'mcpd_'
const deviceCodeForm = /^mcpd_[A-Za-z0-9_-]{43}$/

/** Long enough to find a browser, sign in and get the second factor. */
const deviceTtlSeconds = 900

/** Time for an approved device to fetch its tokens; it polls every few seconds anyway. */
const fetchTtlSeconds = 120

const pollIntervalSeconds = 5

/** With 25 billion codes a collision takes a huge number of waiting devices; five in a row do not happen. */
const maxUserCodeTries = 5

export interface DevicePorts extends AuthorizationCodePorts {
  store: GrantStore & DeviceStore
}

export interface DeviceAuthorizationPorts extends DevicePorts {
  issuer: string
  resource: string
}

/** Parameters of a device authorization request (RFC 8628 section 3.1); `client` has already authenticated. */
export interface DeviceAuthorizationRequest {
  client: Client
  scope: string | undefined
  resources: readonly string[]
  address: string | undefined
}

/** Successful response of the device authorization endpoint (RFC 8628 section 3.2); lifetimes in seconds. */
export interface DeviceAuthorizationResponse {
  device_code: string
  user_code: string
  verification_uri: string
  verification_uri_complete: string
  expires_in: number
  interval: number
}

/** Parameters of a device's token request (RFC 8628 section 3.4); `client` has already authenticated. */
export interface DeviceCodeRequest {
  client: Client
  deviceCode: string
  resources: readonly string[]
}

/**
 * Draws a device code of 256 random bits, which the client keeps, and a user code of 34, which a user types. Throws
 * `invalid_target` or `invalid_scope`. Does not check whether the client may use this grant, nor how many devices it starts.
 *
 * A guessed user code only allows approving a stranger's device, within 15 minutes and after signing in; the page that takes the
 * code limits attempts (RFC 8628 section 5.1).
 */
export async function startDeviceAuthorization(
  request: DeviceAuthorizationRequest,
  ports: DeviceAuthorizationPorts,
): Promise<DeviceAuthorizationResponse> {
  const { runtime, resource } = ports
  requireOurResource(request.resources, resource)
  requireScopeText(request.scope)
  const now = runtime.now()
  const deviceCode = deviceCodePrefix + encodeBase64url(runtime.randomBytes(32))
  const device = {
    deviceHash: deviceHashOf(deviceCode, request.client),
    clientId: request.client.id,
    scope: ports.scopes.grant(request.scope),
    resource,
    address: request.address,
    createdAt: now,
    expiresAt: now + deviceTtlSeconds,
  }
  const userCode = await addWithFreeUserCode(device, ports)
  const verificationUri = `${ports.issuer}/oauth/device`
  return {
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: verificationUri,
    verification_uri_complete: `${verificationUri}?user_code=${userCode}`,
    expires_in: deviceTtlSeconds,
    interval: pollIntervalSeconds,
  }
}

async function addWithFreeUserCode(
  device: Omit<PendingDevice, 'userCodeHash'>,
  { store, runtime }: DevicePorts,
): Promise<string> {
  for (let tries = 0; tries < maxUserCodeTries; tries += 1) {
    const userCode = createUserCode(runtime.randomBytes)
    if (await store.addDevice({ ...device, userCodeHash: userCodeHashOf(userCode) })) return userCode
  }
  throw new OAuthError('temporarily_unavailable', 'Too many devices are waiting right now. Try again later.')
}

/** Ignores letter case, blanks and dashes. Undefined if no device waits under that code any more. */
export async function findDeviceByUserCode(
  typed: string,
  { store, runtime }: DevicePorts,
): Promise<PendingDevice | undefined> {
  const userCode = normaliseUserCode(typed)
  return userCode === undefined ? undefined : store.findDevice(userCodeHashOf(userCode), runtime.now())
}

/**
 * Gives the device two minutes to fetch its tokens. Returns the id of the future grant; undefined if it was already decided or has expired: then, as after a
 * rejection, the caller signs out the session of `signIn`. The future grant is stored like an authorization code, so if it is
 * never fetched, it is signed out at the provider.
 */
export async function approveDevice(
  device: PendingDevice & GrantRequest,
  signIn: SignIn,
  ports: DevicePorts,
): Promise<string | undefined> {
  const { deviceHash } = device
  const expiresAt = Math.min(device.expiresAt, ports.runtime.now() + fetchTtlSeconds)
  // Decided first: the code of a device can be stored only once. Polls between the two writes stay pending.
  if (!(await ports.store.decideDevice(deviceHash, 'approved', ports.runtime.now()))) return undefined
  // No code challenge: no verifier matches it, so this can never be redeemed as an authorization code.
  const record = { codeHash: deviceHash, redirectUri: '', codeChallenge: '', expiresAt }
  return addGrantCode(record, device, signIn, ports)
}

/** Returns false if the device was already decided or has expired. */
export function denyDevice(device: PendingDevice, { store, runtime }: DevicePorts): Promise<boolean> {
  return store.decideDevice(device.deviceHash, 'denied', runtime.now())
}

/**
 * Handles a poll (RFC 8628 sections 3.4 and 3.5). Throws `authorization_pending`, `slow_down`, `access_denied`, `expired_token`
 * or `invalid_target`, and `invalid_grant` for a code that is unknown, used, or another client's.
 */
export async function redeemDeviceCode(
  { client, deviceCode, resources }: DeviceCodeRequest,
  ports: DevicePorts,
): Promise<IssuedTokens> {
  if (!deviceCodeForm.test(deviceCode)) throw unknownDevice()
  const deviceHash = deviceHashOf(deviceCode, client)
  const poll = await ports.store.pollDevice(deviceHash, pollIntervalSeconds, ports.runtime.now())
  if (poll.kind !== 'approved') throw notApproved(poll)
  requireOurResource(resources, poll.device.resource)
  const record = await ports.store.findAuthorizationCode(deviceHash)
  // Just approved; its grant is about to be stored.
  if (!record) throw notApproved({ kind: 'pending' })
  return redeemGrantCode(record, client, ports)
}

function notApproved(poll: Exclude<DevicePoll, { kind: 'approved' }>): OAuthError {
  switch (poll.kind) {
    case 'unknown':
      return unknownDevice()
    case 'expired':
      return new OAuthError('expired_token', 'The user did not approve this in time. Start again.')
    case 'slow_down':
      return new OAuthError(
        'slow_down',
        `Wait ${pollIntervalSeconds} seconds between two polls, and longer from now on.`,
      )
    case 'pending':
      return new OAuthError('authorization_pending', 'The user has not decided about this device yet.')
    case 'denied':
      return new OAuthError('access_denied', 'The user refused.')
  }
}

function unknownDevice(): OAuthError {
  return new OAuthError('invalid_grant', 'This device code is unknown. Start again.')
}

/** Includes the client: one client's code is unknown to all others, and their polls do not count as its own. */
export function deviceHashOf(deviceCode: string, client: Pick<Client, 'id'>): string {
  return hashSecret(`device ${deviceCode} ${client.id}`)
}

function userCodeHashOf(userCode: string): string {
  return hashSecret(`user code ${userCode}`)
}
