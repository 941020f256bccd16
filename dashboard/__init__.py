"""The Streamlit dashboard: pages that read state, call spofr_core and draw."""
