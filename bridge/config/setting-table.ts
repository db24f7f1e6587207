import { networkSettings } from './setting-network.ts'
import { serverSettings } from './setting-server.ts'
import { signInSettings } from './setting-sign-in.ts'
import type { Setting } from './setting.ts'

/** Every setting there is: flags, variables, configuration file, help and documentation all come from here. */
export const settings: readonly Setting[] = [...serverSettings, ...signInSettings, ...networkSettings]
