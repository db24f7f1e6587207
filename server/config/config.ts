import { join } from 'node:path'
import {
  defaultValues,
  type ParsedSettings,
  parseSettings,
} from '@drawbridge/shared/settings/read-settings.ts'
import { defaultSessionCookieName } from '@drawbridge/shared/session-cookie/session-cookie-name.ts'
import { brokenRules, providers, trialClient } from './provider.ts'
import {
  type DerivedField,
  type ServerConfig,
  type Setting,
  type Settings,
  settings,
} from './setting-table.ts'
import type { SettingSources } from './setting-source.ts'

/** Checked settings, faulty or not. */
export interface CheckedSettings {
  /** Complete: a faulty setting has its default. */
  config: ServerConfig
  /** Sentences that name the setting and the expected value. */
  problems: readonly string[]
  /** Settings whose given text was refused. */
  unusable: ReadonlySet<keyof ServerConfig>
  nameOf: (field: keyof ServerConfig) => string
}

/**
 * The complete configuration, and every fault of the settings. Secrets are never repeated. Files that settings name are not
 * read. Never throws.
 */
export function checkSettings(
  { given, name, problems }: SettingSources,
  { production }: { production: boolean },
): CheckedSettings {
  const parsed: ParsedSettings<keyof ServerConfig> = parseSettings(given, undefined, shown)
  const texts: Settings = Object.fromEntries(given.map(({ setting, texts }) => [setting.field, texts[0]]))
  const config = Object.freeze(withDefaults(parsed.values as Partial<ServerConfig>, texts))
  const broken = brokenRules({ config, given: texts, production })
  const nameOf = (field: keyof ServerConfig): string =>
    settings
      .filter((row) => row.field === field)
      .map(name)
      .join('')
  return {
    config,
    problems: [
      ...problems,
      ...parsed.problems,
      // An unknown provider has no rules.
      ...(parsed.unusable.has('provider') ? [] : broken.map(([field, text]) => `${nameOf(field)}: ${text}`)),
    ],
    unusable: parsed.unusable,
    nameOf,
  }
}

function shown(value: unknown, { secret }: Setting): string {
  if (secret) return 'the given value'
  if (typeof value === 'string') return JSON.stringify(withoutPassword(value))
  return value === null ? 'null' : `a value of type ${typeof value}`
}

/** A refused URL may contain a password, which must not get into a log. */
function withoutPassword(text: string): string {
  return text.replace(/\/\/.*@/, '//...@').replaceAll(/(password=)[^&]*/gi, '$1...')
}

const defaults = defaultValues(settings, undefined) as Partial<ServerConfig>

const demoAppName = 'Fieldnotes'

function withDefaults(given: Partial<ServerConfig>, texts: Settings): ServerConfig {
  const config = { ...defaults, ...given } as Omit<ServerConfig, DerivedField | 'providerAudience'> &
    Partial<ServerConfig>
  const { provider, baseUrl, appUrl } = config
  const { isTrial, protocol } = providers[provider]
  const { providerUrl = protocol === 'app' ? new URL(appUrl).origin : `${appUrl}/auth/v1` } = config
  // To the letter: the issuers of some OpenID providers end in a slash.
  const isLiteral = protocol === 'openid_connect' && given.providerUrl !== undefined
  return {
    providerUrl,
    providerIssuer: (isLiteral ? texts.providerUrl : undefined) ?? providerUrl,
    // Access tokens of other providers are opaque, unless the operator says otherwise.
    providerAudience: protocol === 'gotrue' ? 'authenticated' : undefined,
    providerParameters: {},
    cookieName: defaultSessionCookieName(providerUrl),
    allowedOrigins: [...new Set([new URL(baseUrl).origin, new URL(appUrl).origin])],
    appName: isTrial ? demoAppName : new URL(appUrl).host,
    // Apart, so that a token of a trial is unknown once the real provider serves: its client then signs in again.
    store: { kind: 'sqlite', path: join('.drawbridge', isTrial ? 'trial.db' : 'server.db') },
    ...(isTrial && trialClient),
    ...config,
  }
}
