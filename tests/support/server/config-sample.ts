import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { checkSettings } from '../../../server/config/config.ts'
import type { ServerConfig, Settings } from '../../../server/config/setting-table.ts'
import { settingsOfObject } from '../../../server/config/setting-source.ts'

/** Returns the complete configuration for `given`. Throws {@link ConfigError} with every fault of the settings. */
export function createConfig(given: Settings, { production }: { production: boolean }): ServerConfig {
  const { config, problems } = checkSettings(settingsOfObject(given), { production })
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

/** Returns the default configuration with unchecked `overrides`, without the client that only a trial has. */
export function configSample(overrides: Partial<ServerConfig> = {}): ServerConfig {
  const {
    providerClientId: _id,
    providerClientSecret: _secret,
    ...sample
  } = createConfig({}, { production: false })
  return { ...sample, ...overrides } as ServerConfig
}
