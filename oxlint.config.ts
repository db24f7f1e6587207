import { defineConfig, type OxlintOverride } from 'oxlint'

/**
 * Which folders of a program each of its folders may import; of other programs it imports only `shared`. What is not listed is
 * refused. The last of a program's folders connect the others.
 */
const folders: Record<'server' | 'bridge', Record<string, readonly string[]>> = {
  server: {
    core: [],
    texts: ['core'],
    http: ['core', 'texts'],
    mcp: ['core'],
    providers: ['core'],
    store: ['core'],
    fetch: ['core'],
    observability: ['core'],
    config: ['core', 'texts', 'providers', 'store', 'observability'],
    sandbox: ['core', 'texts', 'http'],
    admin: ['core', 'http', 'store', 'observability'],
    startup: [
      'core',
      'texts',
      'http',
      'mcp',
      'providers',
      'store',
      'fetch',
      'config',
      'observability',
      'sandbox',
      'admin',
    ],
  },
  bridge: {
    http: [],
    credentials: [],
    install: [],
    oauth: ['credentials', 'http'],
    transport: ['http'],
    stdio: [],
    'sign-in': ['http', 'transport'],
    proxy: ['http', 'transport', 'sign-in', 'stdio'],
    config: ['credentials', 'http', 'oauth', 'proxy', 'transport'],
  },
}

const allFolders: Record<'server' | 'bridge', readonly string[]> = {
  server: [...Object.keys(folders.server), 'cli'],
  bridge: [...Object.keys(folders.bridge), 'cli'],
}

const looseFiles = 'library|main'

const insideOfPackage = {
  regex: '^(@[^/]+/)?[^./][^/]*/(lib|dist|src|esm|cjs|build)/',
  message: 'Import what the package exports: its files may change in any version.',
}

/** Refuses these imports, and in any case the files inside a package. */
function refuseImports(...patterns: object[]): ['error', { patterns: object[] }] {
  return ['error', { patterns: [insideOfPackage, ...patterns] }]
}

function importsOf(program: 'server' | 'bridge', folder: string, allowed: readonly string[]): OxlintOverride {
  const refused = allFolders[program].filter((name) => name !== folder && !allowed.includes(name))
  const patterns: object[] = [
    {
      regex: `^(\\.\\./)+(${refused.join('|')})/`,
      message: `${program}/${folder} imports ${[...allowed, 'shared'].join(', ')} only.`,
    },
    {
      regex: `^(\\.\\./)+(${looseFiles})\\.ts$`,
      message: 'These files connect the folders and are imported by none.',
    },
    { regex: '^(\\.\\./)+tests/', message: 'Production code does not import test support.' },
  ]
  if (program === 'server' && folder === 'core') {
    patterns.push({
      group: [
        'hono',
        'hono/*',
        '@hono/*',
        '@modelcontextprotocol/*',
        'node:fs*',
        'node:http*',
        'node:sqlite',
      ],
      message: 'server/core decides; it does no I/O.',
    })
  }
  return {
    files: [`${program}/${folder}/**`],
    rules: { 'no-restricted-imports': refuseImports(...patterns) },
  }
}

const webExtension = {
  group: ['webextension-polyfill', 'wxt/browser'],
  allowTypeImports: true,
  message: 'platform/web-extension.ts alone imports the API of the browser.',
}

const wrongWhenHot = {
  object: 'URL',
  property: 'canParse',
  message: 'Node 20 and 22 get it wrong: take isUrl of shared/url.ts.',
}

export default defineConfig({
  plugins: ['typescript', 'unicorn', 'import', 'oxc', 'promise'],
  categories: {
    correctness: 'error',
    suspicious: 'error',
    perf: 'error',
  },
  ignorePatterns: ['**/dist/**', '**/vectors/**'],
  rules: {
    'import/no-cycle': [
      'error',
      {
        ignoreTypes: false,
      },
    ],
    'import/no-default-export': 'error',
    'import/no-duplicates': ['error', { preferInline: true }],
    'import/no-unassigned-import': 'off',
    'no-console': 'error',
    'no-restricted-imports': refuseImports(),
    'no-restricted-properties': ['error', wrongWhenHot],
    'max-lines': [
      'error',
      {
        max: 300,
        skipComments: true,
        skipBlankLines: true,
      },
    ],
    'max-lines-per-function': ['error', { max: 80, skipComments: true, skipBlankLines: true }],
    complexity: [
      'error',
      {
        max: 12,
      },
    ],
    'unicorn/filename-case': [
      'error',
      {
        case: 'kebabCase',
      },
    ],
    'no-await-in-loop': 'off',
    'no-shadow': 'off',
    'no-underscore-dangle': 'off',
    'unicorn/consistent-function-scoping': 'off',
    'unicorn/no-array-sort': 'off',
    'typescript/no-unsafe-type-assertion': 'off',
    'typescript/consistent-return': 'off',
    'typescript/unbound-method': 'off',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/no-explicit-any': 'error',
  },
  overrides: [
    {
      files: ['*.config.ts', 'extension/entrypoints/**'],
      rules: {
        'import/no-default-export': 'off',
      },
    },
    { files: ['oxlint.config.ts'], rules: { 'max-lines': 'off' } },
    // Express 5 hands what an async handler throws to its error handler.
    { files: ['examples/**'], rules: { 'oxc/no-async-endpoint-handlers': 'off' } },
    // The types of settings and documents come from their tables and schemas, so exports need not spell them out; functions do.
    {
      files: ['server/**'],
      excludeFiles: ['**/*.test.ts'],
      rules: { 'typescript/explicit-module-boundary-types': 'error' },
    },
    {
      files: ['shared/**', 'server/core/**'],
      excludeFiles: ['**/*.test.ts', 'shared/async.ts'],
      rules: {
        'no-restricted-globals': [
          'error',
          {
            name: 'fetch',
            message: 'Take Runtime.fetch as a parameter.',
          },
          {
            name: 'process',
            message: 'core and shared do not see the process.',
          },
          {
            name: 'setTimeout',
            message: 'Take Runtime.sleep as a parameter.',
          },
          {
            name: 'setInterval',
            message: 'Take Runtime.sleep as a parameter.',
          },
        ],
        'no-restricted-properties': [
          'error',
          wrongWhenHot,
          {
            object: 'Date',
            property: 'now',
            message: 'Take Runtime.now as a parameter.',
          },
          {
            object: 'Math',
            property: 'random',
            message: 'Take Runtime.randomBytes as a parameter.',
          },
        ],
      },
    },
    {
      files: ['shared/**'],
      rules: {
        'no-restricted-imports': refuseImports({
          regex: '^(node:|(\\.\\./)+(server|bridge|extension|tests)/)',
          message: 'shared is pure and runtime-neutral.',
        }),
      },
      excludeFiles: ['**/*.test.ts'],
    },
    {
      files: ['bridge/**'],
      excludeFiles: [
        'bridge/cli/terminal/**',
        'bridge/stdio/stdio.ts',
        'bridge/credentials/keychain/keychain-helper.ts',
      ],
      rules: {
        'no-restricted-properties': [
          'error',
          wrongWhenHot,
          {
            object: 'process',
            property: 'stdout',
            message: 'stdout belongs to JSON-RPC: cli/terminal and stdio/stdio.ts alone write to it.',
          },
        ],
      },
    },
    {
      files: ['extension/core/**'],
      rules: {
        'no-restricted-imports': refuseImports(
          {
            regex: '^(\\.\\./)+(ui|platform|background|entrypoints|server|bridge|tests)/',
            message: 'extension/core decides; it imports only core and shared.',
          },
          {
            group: ['node:*', 'wxt', 'wxt/**'],
            message: 'extension/core decides; it imports only core and shared.',
          },
          webExtension,
        ),
      },
    },
    {
      files: ['extension/ui/**'],
      rules: {
        'no-restricted-imports': refuseImports(
          {
            group: ['**/platform/**', '**/background/**', '**/entrypoints/**', 'node:*', 'wxt', 'wxt/**'],
            message: 'extension/ui draws; it imports only core and shared.',
          },
          {
            group: ['**/core/session/session-reader.ts', '**/core/endpoint/endpoint-*.ts'],
            allowTypeImports: true,
            message: 'extension/ui shows what core decided.',
          },
          webExtension,
        ),
      },
    },
    {
      files: ['extension/platform/**'],
      excludeFiles: ['extension/platform/web-extension.ts'],
      rules: {
        'no-restricted-imports': refuseImports(
          {
            group: [
              '**/ui/**',
              '**/background/**',
              '**/entrypoints/**',
              '**/core/**',
              '!**/core/ports.ts',
              '!**/core/profile.ts',
              'node:*',
              'wxt',
              'wxt/**',
            ],
            message: 'extension/platform is the browser; of core it knows the ports and the settings.',
          },
          webExtension,
        ),
      },
    },
    {
      files: ['extension/background/**'],
      rules: {
        'no-restricted-imports': refuseImports(
          {
            group: ['**/ui/**', '**/entrypoints/**', 'node:*', 'wxt', 'wxt/**'],
            message: 'extension/background imports platform, core and shared.',
          },
          webExtension,
        ),
      },
    },
    {
      files: ['extension/entrypoints/**'],
      rules: {
        'no-restricted-imports': refuseImports(
          {
            group: ['**/server/**', '**/bridge/**', 'node:*'],
            message: 'extension/entrypoints connect; they import ui, platform, background and core.',
          },
          webExtension,
        ),
      },
    },
    {
      files: ['extension/**'],
      excludeFiles: ['extension/platform/**', 'extension/*.ts', '**/*.test.ts'],
      rules: {
        'no-restricted-globals': [
          'error',
          {
            name: 'chrome',
            message: 'Take the port Browser as a parameter.',
          },
          {
            name: 'browser',
            message: 'Take the port Browser as a parameter.',
          },
          {
            name: 'fetch',
            message: 'Take Browser.fetch as a parameter.',
          },
          {
            name: 'process',
            message: 'There is no process in a browser.',
          },
          {
            name: 'setTimeout',
            message: 'Take Browser.setTimer as a parameter.',
          },
        ],
      },
    },
    {
      files: ['extension/core/**'],
      excludeFiles: ['**/*.test.ts'],
      rules: {
        'no-restricted-globals': [
          'error',
          'chrome',
          'browser',
          'fetch',
          'process',
          'setTimeout',
          'setInterval',
          'document',
          'window',
          'location',
          'navigator',
          'localStorage',
        ],
        'no-restricted-properties': [
          'error',
          wrongWhenHot,
          {
            object: 'Date',
            property: 'now',
            message: 'Take Browser.now as a parameter.',
          },
          {
            object: 'Math',
            property: 'random',
            message: 'Core leaves nothing to chance.',
          },
        ],
      },
    },
    {
      files: ['extension/**'],
      excludeFiles: ['extension/core/**', '**/*.test.ts'],
      rules: {
        'no-restricted-properties': [
          'error',
          wrongWhenHot,
          {
            property: 'innerHTML',
            message: 'What is read is text: textContent.',
          },
          {
            property: 'outerHTML',
            message: 'What is read is text: textContent.',
          },
          {
            property: 'insertAdjacentHTML',
            message: 'What is read is text: textContent.',
          },
        ],
      },
    },
    ...Object.entries(folders).flatMap(([program, table]) =>
      Object.entries(table).map(([folder, allowed]) =>
        importsOf(program as keyof typeof folders, folder, allowed),
      ),
    ),
    {
      files: ['**/*.test.ts', 'tests/**', 'scripts/**'],
      rules: {
        'max-lines': 'off',
        'no-restricted-imports': refuseImports(),
        'no-console': 'off',
        complexity: 'off',
        'no-restricted-properties': 'off',
      },
    },
    { files: ['**/*.test.ts', 'tests/**'], rules: { 'max-lines-per-function': 'off' } },
  ],
})
