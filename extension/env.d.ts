interface ImportMetaEnv {
  /** Known when the extension is built. */
  readonly FIREFOX: boolean
  /** The profile of a team build as JSON, else empty. */
  readonly TEAM: string
}

interface ImportMeta {
  readonly env: ImportMetaEnv
}

declare module '*.css'
