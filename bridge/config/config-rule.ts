import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { isSecureUrl, webUrl } from '@drawbridge/shared/settings/value.ts'
import type { SettingValues } from './setting-table.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

const exclusive: readonly (readonly [readonly (keyof SettingValues)[], string])[] = [
  [['clientCredentials', 'deviceCode'], '--client-credentials and --device-code: use only one of them.'],
  [
    ['resource', 'disableResourceParameter'],
    '--resource and --disable-resource-parameter: use only one of them.',
  ],
  [['callback', 'host'], '--callback and --host: the callback already contains the host.'],
]

/** Returns a sentence for each invalid combination of settings. */
export function conflicts(values: SettingValues, port: number | undefined): string[] {
  const isSet = (field: keyof SettingValues): boolean =>
    values[field] !== undefined && values[field] !== false
  const found = exclusive.filter(([fields]) => fields.every(isSet)).map(([, text]) => text)
  if (isSet('callback') && port !== undefined) {
    found.push('--callback and a port behind the URL: put the port into the callback.')
  }
  if (isSet('clientCredentials') && !isSet('staticClient')) {
    found.push('--client-credentials: needs --static-oauth-client-info as well.')
  }
  if (isSet('privateKey') && !isSet('staticClient') && !isSet('clientMetadataUrl')) {
    found.push('--private-key: needs --static-oauth-client-info or --client-metadata-url as well.')
  }
  return found
}

/** Guesses the scheme of a host without one; undefined for text that is not a host. */
function schemeFor(text: string): 'http:' | 'https:' | undefined {
  const isHost =
    /^(?:[\w.-]+(?:\.[a-z]{2,}|:\d+)|localhost|127(?:\.\d+){3}|\[[\da-f:]+\](?::\d+)?)(?:\/\S*)?$/i.test(text)
  if (!isHost || !isUrl(`http://${text}`)) return undefined
  return isLoopbackHostname(new URL(`http://${text}`).hostname) ? 'http:' : 'https:'
}

/** Returns the fault of a server's URL, if any, without repeating a password in it. */
export function serverUrlProblem(text: string | undefined, allowHttp: boolean): string | undefined {
  if (text === undefined) return 'The URL of the server is missing, such as https://mcp.example.com/mcp.'
  const url = webUrl(text)
  if (url === undefined) {
    const scheme = schemeFor(text)
    const hint = scheme === undefined ? '' : ` Did you mean ${scheme}//${text}?`
    return `${text}: expected a URL that begins with ${scheme ?? 'https:'}//.${hint}`
  }
  if (url.username !== '' || url.password !== '') {
    return 'The URL contains a user name or password, which every user of this computer could see. Use --header-file.'
  }
  if (url.hash !== '') return `${text}: expected a URL without fragment.`
  if (isSecureUrl(url) || allowHttp) return undefined
  return `${text}: plain http is for this computer only. Use https, or --allow-http on a network you trust.`
}
