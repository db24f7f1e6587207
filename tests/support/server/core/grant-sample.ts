import { createSealer, fixedKeyRing, type Sealer } from '../../../../server/core/seal.ts'
import type {
  AuthorizationCodeRecord,
  FirstTokens,
  Grant,
  GrantStore,
  MintedTokens,
  RotationTerms,
  StoredProviderSession,
  SuccessorTokens,
} from '../../../../server/core/session/grant.ts'
import { type IssuedSession, sealProviderSession } from '../../../../server/core/session/session-seal.ts'
import type { SignOutStore } from '../../../../server/core/session/sign-out-worker.ts'
import type { PendingSecondFactor } from '../../../../server/core/sign-in/pending-sign-in.ts'
import { createFakeRuntime } from '../fake-runtime.ts'

/** Start time of every sample, epoch seconds. */
export const start = 1_800_000_000

/** Lifetime of a sample's grant. */
export const grantSeconds: number = 30 * 86_400

/** One connection as stored. Everything in it is named after `name`, so that samples never collide. */
export interface GrantSample {
  grant: Grant
  code: AuthorizationCodeRecord
  session: StoredProviderSession
  tokens: FirstTokens & { refreshHash: string }
}

/** Creates a connection named `name`; `grant` overrides members of its grant. */
export function grantSample(name: string, grant: Partial<Grant> = {}): GrantSample {
  const whole: Grant = {
    id: `grant ${name}`,
    user: { id: `https://provider#${name}`, sub: name, email: `${name}@example.com`, name: `User ${name}` },
    clientId: `client ${name}`,
    resource: 'https://mcp.example.com/mcp',
    scope: 'mcp offline_access',
    workspace: undefined,
    createdAt: start,
    expiresAt: start + grantSeconds,
    ...grant,
  }
  return {
    grant: whole,
    code: {
      codeHash: `code ${name}`,
      grant: whole,
      redirectUri: 'http://127.0.0.1:4711/callback',
      codeChallenge: `challenge ${name}`,
      expiresAt: start + 60,
      replaces: `grant before ${name}`,
    },
    session: sessionSample(whole.id, `sealed ${name} 1`),
    tokens: { ...mintedSample(`${name} 1`), familyHash: `family ${name}` },
  }
}

/** Returns the initial provider session of the grant, code or second factor `grantId`; its tokens last an hour. */
export function sessionSample(grantId: string, sealed: string): StoredProviderSession {
  return { grantId, sealed, issuedAt: start, expiresAt: start + 3600, version: 1 }
}

/** Returns the replacement of `session` after a refresh at the provider. */
export function nextSession(session: StoredProviderSession, sealed?: string): StoredProviderSession {
  const version = session.version + 1
  return {
    grantId: session.grantId,
    sealed: sealed ?? `sealed again ${version}`,
    issuedAt: start + version,
    expiresAt: start + version + 3600,
    version,
  }
}

/** Returns a sign-in named `id` that waits ten minutes for its second factor. */
export function secondFactorSample(id: string, bindingHash = 'binding'): PendingSecondFactor {
  return {
    id,
    bindingHash,
    sealed: `sealed request ${id}`,
    session: sessionSample(id, `sealed half ${id}`),
    expiresAt: start + 600,
  }
}

/** Returns the stored form of a token pair; its hashes are named after `name`. */
export function mintedSample(
  name: string,
  overrides: Partial<MintedTokens> = {},
): MintedTokens & { refreshHash: string } {
  return {
    scope: 'mcp',
    accessHash: `access ${name}`,
    accessExpiresAt: start + 3600,
    ...overrides,
    refreshHash: overrides.refreshHash ?? `refresh ${name}`,
  }
}

/** Returns a {@link mintedSample} as the successor of a refresh token. */
export function successorSample(name: string): SuccessorTokens {
  return { ...mintedSample(name), sealedTokens: `sealed pair ${name}` }
}

/**
 * Returns the server's terms for a rotation at `now`, for a token recognised without its row; `changes` overrides
 * members.
 */
export function rotationTerms(now: number, changes: Partial<RotationTerms> = {}): RotationTerms {
  return { now, replaySeconds: 120, usedReplaySeconds: 10, address: undefined, ...changes }
}

/** Stores `sample` and redeems its code at `start`. */
export async function addGrant(store: GrantStore, sample: GrantSample): Promise<GrantSample> {
  await store.addAuthorizationCode(sample.code, sample.session)
  const redemption = await store.redeemAuthorizationCode(sample.code.codeHash, sample.tokens, start)
  if (redemption.kind !== 'redeemed') throw new Error(`The sample's code is ${redemption.kind}.`)
  return sample
}

/** Returns the sessions whose sign-out is due at `now`, longest due first. They stay due. */
export async function dueSignOuts(store: SignOutStore, now: number): Promise<StoredProviderSession[]> {
  const claimed = await store.claimSignOuts({ limit: 1000, until: now }, now)
  return claimed.map(({ session }) => session)
}

/** Runs `work` fifty times at once, with the number of the run. */
export function race<Result>(work: (index: number) => Promise<Result>): Promise<Result[]> {
  return Promise.all(Array.from({ length: 50 }, (_, index) => work(index)))
}

/** Returns a sealer with one key of its own, named `kid`. */
export function sealerSample(kid = 'k'): Sealer {
  const { randomBytes } = createFakeRuntime()
  return createSealer(fixedKeyRing([{ kid, key: randomBytes(32) }]), randomBytes)
}

/** Adds a connection named `name` whose provider session is sealed by `sealer`. Returns that session as stored. */
export async function addSealedGrant(
  store: GrantStore,
  sealer: Sealer,
  name: string,
  { grant, ...session }: Partial<IssuedSession> & { grant?: Partial<Grant> } = {},
): Promise<StoredProviderSession> {
  const sample = grantSample(name, grant)
  const row = { grantId: sample.grant.id, version: 1, issuedAt: sample.grant.createdAt }
  const tokens = { accessToken: `access ${name}`, refreshToken: `refresh ${name}`, expiresAt: start + 3600 }
  const sealed = sealProviderSession({ ...tokens, issuer: 'https://provider', ...session }, row, sealer)
  await addGrant(store, { ...sample, session: sealed })
  return sealed
}
