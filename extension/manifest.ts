import type { UserManifest } from 'wxt'

/** Fixes the id of unpacked builds in Chromium, so that permissions and tests survive a move of the folder. Public. */
const developmentKey =
  'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAix+crthYLGj8epSgwakZY2asZiQMqytf7r14Glq8V+nUYfosFqG4iysU8tTEp5jT3ZsW6aDU5xxLIvijpnzGPa57EdxCNwVpzOR2kBiDQdWGsUC841AGCmbCAwqVUfdPooT72/SPBXLmJlRAB3WOtqKltq/nq6dD/BhyxKFPEWaxFnm5S1xmIV+m+KWomc4mkm6vmTvSQHC1ZMHQVPnEDsCCKrGZIWmvhJQQfHnBDvhcRUY34pqOAn+EAxA9Mxqm7hMUTPmCcG692X36z/oVERi0OzF2GmGCRkIuQpBp7lWY6YMlU2Vg+dK7iCJJCxW6DqKgekPayfNpg0Yk4OEttQIDAQAB'

/** Runs only the extension's own files; requests go to servers over https, or to this computer. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  'connect-src https: http://localhost:* http://127.0.0.1:*',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * Creates the manifest, except for what the tool adds: version, icons, pages and background script. Installing shows
 * no warnings: no permission here triggers one, and sites are requested one at a time when needed. `key` replaces the
 * public key that fixes the id in Chromium; empty omits it, as the store requires for the first upload. `geckoId`
 * replaces the id in Firefox.
 */
export function createManifest(options: {
  isFirefox: boolean
  key: string | undefined
  geckoId: string | undefined
}): UserManifest {
  const { isFirefox, key = developmentKey, geckoId = 'drawbridge@drawbridge.example' } = options
  return {
    name: '__MSG_extensionName__',
    description: '__MSG_extensionDescription__',
    default_locale: 'en',
    permissions: ['activeTab', 'cookies', 'scripting', 'storage'],
    optional_host_permissions: ['https://*/*', 'http://*/*'],
    content_security_policy: { extension_pages: contentSecurityPolicy },
    action: { default_title: '__MSG_extensionName__' },
    commands: { _execute_action: { suggested_key: { default: 'Alt+Shift+D' } } },
    ...(isFirefox ? firefoxOnly(geckoId) : { ...chromeOnly, ...(key !== '' && { key }) }),
  }
}

const chromeOnly: UserManifest = {
  // The first version that opens the popup from the background and supports partitioned cookies.
  minimum_chrome_version: '127',
  // Private windows have their own process and memory.
  incognito: 'split',
}

function firefoxOnly(id: string): UserManifest {
  return {
    browser_specific_settings: {
      gecko: {
        id,
        // The first version on Android that supports data collection permissions.
        strict_min_version: '142.0',
        // Nothing leaves the browser until the user tests a connection, which sends the token to that server.
        data_collection_permissions: { required: ['none'], optional: ['authenticationInfo'] },
      },
    },
  }
}
