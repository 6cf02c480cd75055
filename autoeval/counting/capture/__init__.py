"""CAPTURe: counting what lies behind an occluder."""
