import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { SessionProvider } from '../core/session/session-provider.ts'
import { createGotrueProvider } from '../providers/supabase/gotrue.ts'
import { createOidcProvider } from '../providers/openid-connect/oidc.ts'
import type { ServerConfig } from '../config/setting.ts'

/** The session provider that `config` names. `runtime` reaches the embedded one too, which speaks as Supabase Auth does. */
export function openProvider(
  config: ServerConfig,
  runtime: Pick<Runtime, 'now' | 'randomBytes' | 'fetch'>,
): SessionProvider {
  const { providerIssuer: issuer, providerAudience: audience } = config
  if (config.provider === 'oidc') {
    return createOidcProvider(
      {
        issuer,
        audience,
        clientId: config.providerClientId ?? '',
        clientSecret: config.providerClientSecret,
        scope: config.providerScope,
        parameters: config.providerParameters,
        label: config.providerName,
      },
      runtime,
    )
  }
  return createGotrueProvider(
    {
      url: config.providerUrl,
      apiKey: config.providerKey,
      issuer,
      audience: audience ?? 'authenticated',
      hs256Secret: config.providerJwtSecret,
      social: config.social,
      captcha: config.captcha,
      secondFactor: config.secondFactor,
    },
    runtime,
  )
}
