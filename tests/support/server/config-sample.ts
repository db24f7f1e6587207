import { createConfig } from '../../../server/config/config.ts'
import type { ServerConfig } from '../../../server/config/setting-table.ts'

/** Returns the default configuration with unchecked `overrides`. */
export function configSample(overrides: Partial<ServerConfig> = {}): ServerConfig {
  return { ...createConfig({}, { production: false }), ...overrides }
}
