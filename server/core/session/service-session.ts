import type { Client } from '../clients/client.ts'
import type { ProviderSession, SessionProvider } from './session-provider.ts'

/** Stands for the provider's token in the session of a service, which has none. */
const noToken = 'drawbridge service'

/** Creates what is stored for a service in place of a provider's session. Undefined `tools`: all. */
export function serviceSession(
  { name, tools }: Pick<Client, 'name' | 'tools'>,
  expiresAt: number,
): ProviderSession {
  return { accessToken: noToken, refreshToken: '', expiresAt, userinfo: { name, tools } }
}

/** Returns the patterns of the tools that a service may call; undefined: all. */
export function toolsOfService({ userinfo }: ProviderSession): readonly string[] | undefined {
  return userinfo?.['tools'] as readonly string[] | undefined
}

function isService({ accessToken }: { accessToken: string }): boolean {
  return accessToken === noToken
}

/** Adds services to a provider: it is never asked about them, and has nothing to end for them. */
export function withServices(provider: SessionProvider): SessionProvider {
  const probe = provider.probe?.bind(provider)
  return {
    ...provider,
    refresh: async (session) => (isService(session) ? session : provider.refresh(session)),
    ...(probe && { probe: async (session) => (isService(session) ? { life: 'live' } : probe(session)) }),
    signOut: async (session) => void (isService(session) || (await provider.signOut(session))),
    profileOf(of, probed) {
      if (of.kind === 'identity' || !isService(of.session)) return provider.profileOf(of, probed)
      const name = of.session.userinfo?.['name'] as string | undefined
      return { email: undefined, emailVerified: undefined, name, providers: ['service'], claims: {} }
    },
  }
}
