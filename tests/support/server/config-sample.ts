import { createConfig } from '../../../server/config/config.ts'
import type { ServerConfig } from '../../../server/config/setting-table.ts'

/** Returns the default configuration with unchecked `overrides`, without the client that only a trial has. */
export function configSample(overrides: Partial<ServerConfig> = {}): ServerConfig {
  const {
    providerClientId: _id,
    providerClientSecret: _secret,
    ...sample
  } = createConfig({}, { production: false })
  return { ...sample, ...overrides } as ServerConfig
}
