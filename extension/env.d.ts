interface ImportMetaEnv {
  /** Set at build time. */
  readonly FIREFOX: boolean
  /** The profile of a team build as JSON, or else empty. */
  readonly TEAM: string
}

interface ImportMeta {
  readonly env: ImportMetaEnv
}

declare module '*.css'
