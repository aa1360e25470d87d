/** The key of an effect's item: the identity of its call as JSON, `[epoch, scope, kind, name, nth]`. */
export const EFFECT_KEY = "json_build_array(i.epoch, i.scope, i.kind, i.name, i.nth)::text";
